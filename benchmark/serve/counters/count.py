# Answers each request with its path and which one it is.
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

count = 0


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        global count
        count += 1
        body = f"{self.path} {count}".encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
