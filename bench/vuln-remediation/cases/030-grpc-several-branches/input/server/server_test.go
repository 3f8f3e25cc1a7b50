package server

import "testing"

func TestAddressOfIPv6IsBracketed(t *testing.T) {
	if got := Address("::1", 50051); got != "[::1]:50051" {
		t.Errorf("got %s", got)
	}
}
