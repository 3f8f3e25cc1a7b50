// Package store keeps notes in a file.
package store

import (
	"strings"

	bolt "go.etcd.io/bbolt"
)

// Key is the name under which a note is kept.
func Key(title string) []byte {
	return []byte(strings.ToLower(strings.TrimSpace(title)))
}

// Put keeps a note.
func Put(db *bolt.DB, title, text string) error {
	return db.Update(func(tx *bolt.Tx) error {
		bucket, err := tx.CreateBucketIfNotExists([]byte("notes"))
		if err != nil {
			return err
		}
		return bucket.Put(Key(title), []byte(text))
	})
}
