// Says hello, by the name that the query has. With `bindings: ['DB']`, a kv of the router, it counts its greetings under /count.
package main

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../include
#include "mayfly.h"
*/
import "C"

import (
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"unsafe"
)

func main() {
	var request C.mayfly_request
	for C.mayfly_wait_for_request(&request) == 1 {
		answer(&request)
	}
}

func answer(request *C.mayfly_request) {
	asked, err := url.Parse(text(request.url))
	if err != nil {
		respond(400, "This is no URL\n")
		return
	}
	name := asked.Query().Get("name")
	if name == "" {
		name = "world"
	}
	if !strings.HasSuffix(asked.Path, "/count") {
		respond(200, "Hello, "+name+"!\n")
		return
	}
	count, err := call("DB.increment", name)
	if err != nil {
		respond(503, err.Error()+"\n")
		return
	}
	respond(200, "Hello, "+name+", for the "+count+". time!\n")
}

// call asks the host, with arguments that have a JSON form, and gives what it answers, as JSON.
func call(function string, arguments ...any) (string, error) {
	given, err := json.Marshal(arguments)
	if err != nil {
		return "", err
	}
	name, list := C.CString(function), C.CString(string(given))
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(list))
	var value C.mayfly_text
	if C.mayfly_call(name, list, nil, 0, &value) <= C.MAYFLY_FAILED {
		return "", errors.New(text(value))
	}
	return text(value), nil
}

func respond(status int, body string) {
	kind := C.CString("text/plain; charset=utf-8")
	defer C.free(unsafe.Pointer(kind))
	C.mayfly_respond(C.int(status), kind, unsafe.Pointer(unsafe.StringData(body)), C.size_t(len(body)))
}

// text copies what lies in the frame.
func text(from C.mayfly_text) string {
	return C.GoStringN(from.data, C.int(from.length))
}
