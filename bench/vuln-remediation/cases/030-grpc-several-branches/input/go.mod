module example.com/ledger

go 1.20

require google.golang.org/grpc v1.57.0

require (
	github.com/golang/protobuf v1.5.3 // indirect
	google.golang.org/protobuf v1.31.0 // indirect
)
