module example.com/pass

go 1.16

require github.com/dgrijalva/jwt-go v3.2.0+incompatible
