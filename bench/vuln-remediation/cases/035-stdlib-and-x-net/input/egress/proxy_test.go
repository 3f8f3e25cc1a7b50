package egress

import "testing"

func TestAnExceptionHasNoProxy(t *testing.T) {
	proxy, err := Proxy("http://proxy.invalid", "internal.invalid", "https://internal.invalid/x")
	if err != nil || proxy != nil {
		t.Fatalf("got %v, %v", proxy, err)
	}
}
