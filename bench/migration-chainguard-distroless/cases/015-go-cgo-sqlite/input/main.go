package main

import (
	"database/sql"
	"log"
	"net/http"
	"os"

	_ "github.com/mattn/go-sqlite3"
)

func open(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", path)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec("create table if not exists note (body text)")
	return db, err
}

func main() {
	db, err := open(os.Getenv("NOTES_DB"))
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/notes", func(w http.ResponseWriter, r *http.Request) {
		if _, err := db.Exec("insert into note values (?)", r.FormValue("body")); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	log.Fatal(http.ListenAndServe(":8080", nil))
}
