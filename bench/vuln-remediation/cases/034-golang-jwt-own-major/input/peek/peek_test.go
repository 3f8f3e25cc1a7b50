package peek

import "testing"

func TestATokenHasThreeParts(t *testing.T) {
	if got := Parts("a.b.c"); got != 3 {
		t.Fatalf("got %d", got)
	}
}
