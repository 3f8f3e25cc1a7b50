module example.com/egress

go 1.23.0

toolchain go1.23.6

require golang.org/x/net v0.35.0
