package main

import "testing"

func TestOpenInMemory(t *testing.T) {
	if _, err := open(":memory:"); err != nil {
		t.Fatal(err)
	}
}
