module mayfly-hello

go 1.21
