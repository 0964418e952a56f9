// Answers each request with its path and which one it is.
package main

import (
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
)

func main() {
	var count atomic.Int64
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %d", r.URL.Path, count.Add(1))
	})
	panic(http.ListenAndServe(":"+os.Args[1], nil))
}
