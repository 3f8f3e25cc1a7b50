// Package claims checks who a token is for.
package claims

import (
	"strings"

	"github.com/dgrijalva/jwt-go"
)

// Bearer returns the token of an Authorization header.
func Bearer(header string) (string, bool) {
	token := strings.TrimPrefix(header, "Bearer ")
	return token, token != header && token != ""
}

// IsFor tells whether a token's claims name the audience.
func IsFor(claims jwt.MapClaims, audience string) bool {
	return claims.VerifyAudience(audience, true)
}
