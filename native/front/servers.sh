#!/bin/sh
# Serves programs of several runtimes unmodified, with a reset for each request, asks each and prints a table. What is not installed is
# said. Build first: cargo build --release -p mayfly-front
set -u
here=$(cd "$(dirname "$0")" && pwd)
mayfly=${MAYFLY:-$here/../target/release/mayfly-cli}
work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
[ -x "$mayfly" ] || { echo "servers.sh: $mayfly is missing, want: cargo build --release -p mayfly-front" >&2; exit 1; }

mkdir "$work/go"
cat > "$work/go/main.go" <<'EOF'
package main

import (
	"fmt"
	"net/http"
)

var count int

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { count++; fmt.Fprintf(w, "hello %d", count) })
	panic(http.ListenAndServe(":8000", nil))
}
EOF
printf 'module hello\ngo 1.21\n' > "$work/go/go.mod"
cat > "$work/node.js" <<'EOF'
let count = 0
require('http').createServer((_, response) => response.end(`hello ${++count}`)).listen(8000)
EOF
cat > "$work/deno.js" <<'EOF'
let count = 0
Deno.serve({ port: 8000 }, () => new Response(`hello ${++count}`))
EOF
cat > "$work/server.py" <<'EOF'
from http.server import BaseHTTPRequestHandler, HTTPServer
count = 0
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        global count
        count += 1
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'hello %d' % count)
    def log_message(self, *_):
        pass
HTTPServer(('', 8000), Handler).serve_forever()
EOF

printf '%-28s %-10s %-10s %-8s %-8s %s\n' server 'boot ms' 'snapshot' reset HTTP/2 'requests/s (50 connections)'

# NAME WANTED-COMMAND OPTIONS run PROGRAM...
try() {
  name=$1 wanted=$2
  shift 2
  command -v "$wanted" > /dev/null || { printf '%-28s not installed\n' "$name"; return; }
  : > "$work/log"
  "$mayfly" serve --listen 127.0.0.1:0 --ephemeral --quiet --warmup 20 "$@" 2> "$work/log" &
  server=$! tries=0
  until grep -q 'listening on' "$work/log" || ! kill -0 $server 2> /dev/null || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done
  address=$(sed -n 's/.*listening on \([^,]*\),.*/\1/p' "$work/log")
  if [ -z "$address" ]; then
    printf '%-28s does not boot: %s\n' "$name" "$(grep . "$work/log" | tail -n 1)"
  else
    # One connection, three requests: each meets the snapshot behind 20 requests.
    answers=$(curl -s -m 10 "http://$address/" "http://$address/" "http://$address/")
    case $answers in 'hello 21hello 21hello 21') reset=yes ;; *) reset="no ($answers)" ;; esac
    two=$(curl -s -m 10 -o /dev/null -w '%{http_version}' --http2-prior-knowledge "http://$address/")
    rate=
    if [ -n "${AUTOCANNON:-}" ]; then
      rate=$(node "$AUTOCANNON" -j -c 50 -d 3 "http://$address/" 2> /dev/null |
        node -e 'const r = JSON.parse(require("fs").readFileSync(0)); console.log(Math.round(r.requests.average), "failed:", r.errors + r.non2xx)')
    fi
    printf '%-28s %-10s %-10s %-8s %-8s %s\n' "$name" "$(sed -n 's/.*booted in \([0-9]*\) ms.*/\1/p' "$work/log")" \
      "$(sed -n 's/.*, \([0-9]* MiB\)$/\1/p' "$work/log")" "$reset" "$two" "$rate"
  fi
  kill $server 2> /dev/null
  wait $server 2> /dev/null
  server=
}

command -v go > /dev/null && (cd "$work/go" && CGO_ENABLED=0 go build -o ../hello .)
try 'Go net/http' go run "$work/hello"
try 'Node http' node --allow-read "$work" run node "$work/node.js"
try 'Deno Deno.serve' deno --env DENO_DIR=/tmp/deno --env HOME=/tmp --allow-read "$work" \
  run deno run --allow-net --no-remote --no-npm "$work/deno.js"
python=$(readlink -f /usr/bin/python3)
try 'Python http.server' "$python" --allow-read "$work,/usr/lib/$(basename "$python")" run "$python" "$work/server.py"
