package claims

import "testing"

func TestBearerNeedsItsScheme(t *testing.T) {
	if _, ok := Bearer("abc"); ok {
		t.Error("a header without a scheme was taken")
	}
	if token, ok := Bearer("Bearer abc"); !ok || token != "abc" {
		t.Errorf("got %q", token)
	}
}
