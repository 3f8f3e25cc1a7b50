package main

import (
	"fmt"
	"log"
	"net/http"
	"time"
)

func now(zone string) (string, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return "", err
	}
	return time.Now().In(location).Format(time.RFC3339), nil
}

func main() {
	http.HandleFunc("/now", func(w http.ResponseWriter, r *http.Request) {
		text, err := now(r.URL.Query().Get("zone"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Fprintln(w, text)
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
