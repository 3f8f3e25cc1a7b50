package store

import "testing"

func TestKeysIgnoreCaseAndBlanks(t *testing.T) {
	if got := string(Key("  Milk ")); got != "milk" {
		t.Fatalf("got %q", got)
	}
}
