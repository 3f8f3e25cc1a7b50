package main

import (
	"log"
	"net/http"

	"github.com/acme/h2cserve"
	"github.com/go-chi/chi/v5"
)

func routes() http.Handler {
	router := chi.NewRouter()
	router.Get("/health", health)
	return router
}

func health(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	log.Fatal(h2cserve.ListenAndServe(":8080", routes()))
}
