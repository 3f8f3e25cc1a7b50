// Package server starts the ledger's gRPC server.
package server

import (
	"fmt"
	"net"

	"google.golang.org/grpc"
)

// Address is where the server listens.
func Address(host string, port int) string {
	return net.JoinHostPort(host, fmt.Sprint(port))
}

// New returns a server without services.
func New() *grpc.Server {
	return grpc.NewServer()
}
