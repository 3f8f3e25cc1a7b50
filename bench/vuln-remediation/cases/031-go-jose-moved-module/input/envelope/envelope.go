// Package envelope opens encrypted messages.
package envelope

import (
	"errors"

	jose "gopkg.in/square/go-jose.v2"
)

// ErrEmpty means that there is nothing to open.
var ErrEmpty = errors.New("empty message")

// Open decrypts a message in compact form.
func Open(message string, key any) ([]byte, error) {
	if message == "" {
		return nil, ErrEmpty
	}
	encrypted, err := jose.ParseEncrypted(message)
	if err != nil {
		return nil, err
	}
	return encrypted.Decrypt(key)
}
