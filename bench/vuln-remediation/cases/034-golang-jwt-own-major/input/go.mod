module example.com/relay

go 1.21

require github.com/golang-jwt/jwt/v4 v4.5.1
