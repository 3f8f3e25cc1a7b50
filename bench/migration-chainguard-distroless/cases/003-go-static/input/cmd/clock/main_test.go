package main

import "testing"

func TestUnknownZoneIsAnError(t *testing.T) {
	if _, err := now("Nowhere/Land"); err == nil {
		t.Fatal("want an error")
	}
}
