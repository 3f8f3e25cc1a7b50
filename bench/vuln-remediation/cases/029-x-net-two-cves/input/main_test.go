package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestHealthHasNoContent(t *testing.T) {
	recorder := httptest.NewRecorder()
	health(recorder, httptest.NewRequest(http.MethodGet, "/health", nil))
	if recorder.Code != http.StatusNoContent {
		t.Fatalf("got %d", recorder.Code)
	}
}
