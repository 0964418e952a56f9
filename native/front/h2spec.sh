#!/bin/sh
# Runs h2spec (a Go module) against the front by TLS, with a server of C behind it. Build first: cargo build --release -p mayfly-front
set -u
here=$(cd "$(dirname "$0")" && pwd)
mayfly=${MAYFLY:-$here/../target/release/mayfly-cli}
for tool in go gcc /dev/kvm; do
  [ -e "$tool" ] || command -v "$tool" > /dev/null || { echo "SKIPPED: h2spec.sh: $tool is missing"; exit 0; }
done
[ -x "$mayfly" ] || { echo "h2spec.sh: $mayfly is missing, want: cargo build --release -p mayfly-front" >&2; exit 1; }
work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
GOFLAGS=-mod=mod GOBIN=$work go install github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible > "$work/go.log" 2>&1 || {
  echo "SKIPPED: h2spec.sh: go cannot get h2spec: $(tail -n 1 "$work/go.log")"
  exit 0
}
gcc -O1 -w -static -o "$work/guest" "$here/tests/serve/guest.c" || exit 1
"$mayfly" serve --listen 127.0.0.1:0 --ephemeral --quiet --tls-cert "$here/tests/serve/tls/certificate.pem" \
  --tls-key "$here/tests/serve/tls/key.pem" run "$work/guest" 2> "$work/log" &
server=$! tries=0
until grep -q 'listening on' "$work/log" || ! kill -0 $server 2> /dev/null || [ $((tries += 1)) -gt 300 ]; do sleep 0.1; done
port=$(sed -n 's/.*listening on [^,]*:\([0-9]*\),.*/\1/p' "$work/log")
[ -n "$port" ] || { cat "$work/log" >&2; exit 1; }
# Each case has half a minute, as the machine may be busy.
"$work/h2spec" -h 127.0.0.1 -p "$port" -t -k -P /count -o 30
