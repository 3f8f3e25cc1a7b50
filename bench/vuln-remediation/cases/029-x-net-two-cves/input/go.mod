module example.com/gateway

go 1.21

require (
	github.com/acme/h2cserve v1.4.2
	github.com/go-chi/chi/v5 v5.0.10
)

require (
	golang.org/x/net v0.16.0 // indirect
	golang.org/x/text v0.13.0 // indirect
)
