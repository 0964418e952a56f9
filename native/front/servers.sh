#!/bin/sh
# Serves programs of several runtimes unmodified, with a reset for each request and without, asks each and prints a table. What is not installed is
# said; exits with 1 when one does not boot or answers otherwise. Build first: cargo build --release -p mayfly-front
set -u
here=$(cd "$(dirname "$0")" && pwd)
mayfly=${MAYFLY:-$here/../target/release/mayfly-cli}
work=$(mktemp -d)
server=
failed=0
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
[ -x "$mayfly" ] || { echo "servers.sh: $mayfly is missing, want: cargo build --release -p mayfly-front" >&2; exit 1; }

mkdir "$work/go"
cat > "$work/go/main.go" <<'EOF'
package main

import (
	"fmt"
	"io"
	"net/http"
)

var count int

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { count++; fmt.Fprintf(w, "hello %d", count) })
	http.HandleFunc("/length", func(w http.ResponseWriter, r *http.Request) { n, _ := io.Copy(io.Discard, r.Body); fmt.Fprint(w, n) })
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
cat > "$work/webrick.rb" <<'EOF'
require 'webrick'
count = 0
server = WEBrick::HTTPServer.new(Port: 8000, AccessLog: [], Logger: WEBrick::Log.new(File::NULL))
server.mount_proc('/') { |_, response| response.body = "hello #{count += 1}" }
server.start
EOF
cat > "$work/config.ru" <<'EOF'
count = 0
run ->(_) { [200, { 'content-type' => 'text/plain' }, ["hello #{count += 1}"]] }
EOF
cat > "$work/Hello.java" <<'EOF'
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicInteger;

public class Hello {
  public static void main(String[] arguments) throws Exception {
    var count = new AtomicInteger();
    var server = HttpServer.create(new InetSocketAddress(8000), 0);
    server.createContext("/", exchange -> {
      var body = ("hello " + count.incrementAndGet()).getBytes();
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
EOF
cat > "$work/blocking.rs" <<'EOF'
use std::io::{BufRead, BufReader, Write};

fn main() {
    let mut count = 0;
    for stream in std::net::TcpListener::bind("0.0.0.0:8000").unwrap().incoming() {
        let mut stream = stream.unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
        while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
        count += 1;
        let body = format!("hello {count}");
        let length = body.len();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
    }
}
EOF
mkdir -p "$work/axum/src"
cat > "$work/axum/Cargo.toml" <<'EOF'
[package]
name = "hello"
version = "0.1.0"
edition = "2024"

[dependencies]
axum = "0.8"
tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] }
EOF
cat > "$work/axum/src/main.rs" <<'EOF'
use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(1);

async fn hello() -> String {
    format!("hello {}", COUNT.fetch_add(1, Ordering::Relaxed))
}

#[tokio::main]
async fn main() {
    let app = axum::Router::new().route("/", axum::routing::get(hello));
    let listener = tokio::net::TcpListener::bind("0.0.0.0:8000").await.unwrap();
    axum::serve(listener, app).await.unwrap();
}
EOF
cat > "$work/server.php" <<'EOF'
<?php
echo 'hello 21';
EOF
cat > "$work/app.psgi" <<'EOF'
my $count = 0;
sub { [200, ['content-type' => 'text/plain'], ['hello ' . ++$count]] };
EOF
cat > "$work/mojo.pl" <<'EOF'
use Mojolicious::Lite -signatures;
my $count = 0;
get '/' => sub ($c) { $c->render(text => 'hello ' . ++$count) };
app->log->level('fatal');
app->start('daemon', '-l', 'http://*:8000');
EOF
cat > "$work/hello.erl" <<'EOF'
-module(hello).
-export([start/0]).

start() ->
    {ok, Listener} = gen_tcp:listen(8000, [binary, {packet, http_bin}, {active, false}, {reuseaddr, true}]),
    accept(Listener, counters:new(1, [])).

accept(Listener, Count) ->
    {ok, Socket} = gen_tcp:accept(Listener),
    Server = spawn(fun() -> receive go -> serve(Socket, Count) end end),
    gen_tcp:controlling_process(Socket, Server),
    Server ! go,
    accept(Listener, Count).

serve(Socket, Count) ->
    case gen_tcp:recv(Socket, 0) of
        {ok, http_eoh} ->
            counters:add(Count, 1, 1),
            Body = io_lib:format("hello ~b", [counters:get(Count, 1)]),
            Length = integer_to_list(iolist_size(Body)),
            gen_tcp:send(Socket, ["HTTP/1.1 200 OK\r\ncontent-length: ", Length, "\r\nconnection: close\r\n\r\n", Body]),
            gen_tcp:close(Socket);
        {ok, _} -> serve(Socket, Count);
        _ -> gen_tcp:close(Socket)
    end.
EOF
cat > "$work/hello.lisp" <<'EOF'
(require :asdf)
(asdf:load-system :hunchentoot)
(defvar *count* 0)
(hunchentoot:define-easy-handler (hello :uri "/") () (format nil "hello ~d" (incf *count*)))
(hunchentoot:start (make-instance 'hunchentoot:easy-acceptor :port 8000 :access-log-destination nil))
(loop (sleep 1000))
EOF
cat > "$work/Caddyfile" <<'EOF'
{
  admin off
  auto_https off
}
:8000 {
  respond "hello 21"
}
EOF
mkdir "$work/www"
printf 'hello 21' > "$work/www/index.html"
cat > "$work/lighttpd.conf" <<EOF
server.document-root = "$work/www"
server.port = 8000
server.modules = ()
index-file.names = ( "index.html" )
EOF

row() { printf '%-22s %-8s %-9s %-24s %-24s %-7s %s\n' "$@"; }
row server 'boot ms' snapshot 'reset per request' 'keeps its state' HTTP/2 'requests/s (50 connections)'

# Starts `mayfly serve` with these arguments and sets `address`, or leaves it empty.
start() {
  : > "$work/log"
  "$mayfly" serve --listen 127.0.0.1:0 --quiet --warmup 20 "$@" 2> "$work/log" &
  server=$! tries=0
  until grep -q 'listening on' "$work/log" || ! kill -0 $server 2> /dev/null || [ $((tries += 1)) -gt 1800 ]; do sleep 0.1; done
  address=$(sed -n 's/.*listening on \([^,]*\),.*/\1/p' "$work/log")
}
stop() {
  kill $server 2> /dev/null
  wait $server 2> /dev/null
  server=
}
# Three requests on one connection: each meets the snapshot behind 20 requests, or the one before it. WANTED
ask() {
  answers=$(curl -s -m 10 "http://$address/" "http://$address/" "http://$address/")
  [ "$answers" = "$1" ] && echo yes || echo "no: $answers"
}

# NAME WANTED-COMMAND OPTIONS run PROGRAM...
try() {
  name=$1 wanted=$2
  shift 2
  command -v "$wanted" > /dev/null || { row "$name" 'not installed'; return; }
  start --ephemeral "$@"
  if [ -z "$address" ]; then
    row "$name" "does not boot: $(grep . "$work/log" | tail -n 1)"
    failed=1
    stop
    return
  fi
  boot=$(sed -n 's/.*booted in \([0-9]*\) ms.*/\1/p' "$work/log")
  size=$(sed -n 's/.*, \([0-9]* MiB\)$/\1/p' "$work/log")
  reset=$(ask 'hello 21hello 21hello 21')
  two=$(curl -s -m 10 -o /dev/null -w '%{http_version}' --http2-prior-knowledge "http://$address/")
  rate=
  if [ -n "${AUTOCANNON:-}" ]; then
    rate=$(node "$AUTOCANNON" -j -c 50 -d 3 "http://$address/" 2> /dev/null |
      node -e 'const r = JSON.parse(require("fs").readFileSync(0)); console.log(Math.round(r.requests.average), "failed:", r.errors + r.non2xx)')
  fi
  stop
  start --threads 1 "$@"
  # What answers the same whatever it is asked has no state.
  case $name in lighttpd* | PHP* | Caddy* | webfsd*) kept='has none' ;; *) kept=$(ask 'hello 21hello 22hello 23') ;; esac
  stop
  row "$name" "$boot" "$size" "$reset" "$kept" "$two" "$rate"
  case "$reset $kept $two" in 'yes yes 2' | 'yes has none 2') ;; *) failed=1 ;; esac
}

# Libraries of the system, for programs that find some by name while they run.
system=/usr/lib/x86_64-linux-gnu
command -v go > /dev/null && (cd "$work/go" && CGO_ENABLED=0 go build -o ../hello .)
try 'Go net/http' go run "$work/hello"
try 'Node http' node --allow-read "$work" run node "$work/node.js"
try 'Deno Deno.serve' deno --env DENO_DIR=/tmp/deno --env HOME=/tmp --allow-read "$work" \
  run deno run --allow-net --no-remote --no-npm "$work/deno.js"
python=$(readlink -f /usr/bin/python3)
try 'Python http.server' "$python" --allow-read "$work,/usr/lib/$(basename "$python")" run "$python" "$work/server.py"
ruby=$(readlink -f "$(command -v ruby || echo ruby)")
gems=/usr/lib/ruby,/usr/share/rubygems-integration,/var/lib/gems,$system/ruby
try 'Ruby WEBrick' ruby --allow-read "$work,$gems" run "$ruby" "$work/webrick.rb"
try 'Ruby Puma' puma --allow-read "$work,$gems,$(command -v puma),$system" \
  run "$ruby" "$(command -v puma)" -C - -w 0 -t 2:2 -b tcp://0.0.0.0:8000 "$work/config.ru"
java=$(readlink -f "$(command -v java || echo java)")
home=${java%/bin/java}
command -v javac > /dev/null && javac -d "$work" "$work/Hello.java"
try 'Java HttpServer' javac --allow-read "$work,$home,/etc/java-17-openjdk,$system/libstdc++.so.6,$system/libgcc_s.so.1,$system/libm.so.6,$system/libz.so.1" \
  run "$java" -Xmx128m -XX:+UseSerialGC -cp "$work" Hello
command -v rustc > /dev/null && rustc -O -o "$work/blocking" "$work/blocking.rs"
try 'Rust std, blocking' rustc run "$work/blocking"
command -v cargo > /dev/null && (cd "$work/axum" && cargo build --release --quiet --target-dir "$work/axum/target")
try 'Rust axum' cargo run "$work/axum/target/release/hello"
try 'lighttpd (C)' lighttpd --allow-read "$work,/usr/lib/lighttpd" run "$(command -v lighttpd)" -D -f "$work/lighttpd.conf"
try 'webfsd (C)' webfsd --allow-read "$work,/etc/mime.types,/etc/passwd,/etc/group" run "$(command -v webfsd)" -F -p 8000 -r "$work/www" -f index.html
try 'Caddy' caddy --env HOME=/tmp --allow-read "$work" run "$(command -v caddy)" run --adapter caddyfile --config "$work/Caddyfile"
php=$(readlink -f "$(command -v php || echo php)")
try 'PHP php -S' php --allow-read "$work,$system,/etc/php,/usr/lib/php,/usr/share/zoneinfo" run "$php" -S 0.0.0.0:8000 "$work/server.php"
perl=$work,$system,/etc/perl,/usr/share/perl,/usr/share/perl5
try 'Perl plackup' plackup --allow-read "$perl,$(command -v plackup)" \
  run /usr/bin/perl "$(command -v plackup)" -E deployment -p 8000 "$work/app.psgi"
try 'Perl Mojolicious' hypnotoad --allow-read "$perl,/usr/share/javascript,/usr/share/nodejs" run /usr/bin/perl "$work/mojo.pl"
command -v erlc > /dev/null && erlc -o "$work" "$work/hello.erl"
erts=$(echo /usr/lib/erlang/erts-*/bin)
try 'Erlang gen_tcp' erlc --allow-read "$work,/usr/lib/erlang" --env BINDIR="$erts" --env HOME=/tmp \
  run "$erts/beam.smp" -S 2:2 -- -root /usr/lib/erlang -bindir "$erts" -progname erl -home /tmp -- -noshell -noinput -pa "$work" -s hello start
try 'Lisp Hunchentoot' sbcl --max-boot-time 170 --allow-read "$work,/usr/lib/sbcl,/usr/share/common-lisp,$system" --env HOME=/tmp \
  run "$(command -v sbcl)" --non-interactive --no-userinit --load "$work/hello.lisp"

# A body of 1 GiB goes through a machine and is kept nowhere; others are answered meanwhile.
if [ -x "$work/hello" ]; then
  start --ephemeral --max-body 2048 --max-stream-time 600 run "$work/hello"
  head -c 1073741824 /dev/zero | curl -s -m 600 -X POST -T - "http://$address/length" > "$work/length" &
  body=$! others=0 wrong=0
  while kill -0 $body 2> /dev/null; do
    others=$((others + 1))
    [ "$(curl -s -m 30 "http://$address/")" = 'hello 21' ] || wrong=$((wrong + 1))
    sleep 0.5
  done
  most=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$server/status")
  stop
  echo "a body of 1 GiB: $(cat "$work/length") bytes, $((most / 1024)) MiB of memory at most, $others others, $wrong wrong"
  [ "$(cat "$work/length")" = 1073741824 ] && [ "$most" -lt 262144 ] && [ "$wrong" -eq 0 ] || failed=1
fi
exit $failed
