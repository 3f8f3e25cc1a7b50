package envelope

import (
	"errors"
	"testing"
)

func TestNothingIsRefused(t *testing.T) {
	if _, err := Open("", nil); !errors.Is(err, ErrEmpty) {
		t.Fatalf("got %v", err)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	if _, err := Open("x.y.z", nil); err == nil {
		t.Fatal("garbage was opened")
	}
}
