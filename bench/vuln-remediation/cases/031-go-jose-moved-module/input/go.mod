module example.com/vault

go 1.21

require gopkg.in/square/go-jose.v2 v2.6.0

require (
	golang.org/x/crypto v0.19.0 // indirect
)
