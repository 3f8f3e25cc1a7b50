import os
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == "/healthz"
        self.send_response(200 if known else 404)
        self.end_headers()
        self.wfile.write(b"ok\n" if known else b"")


if __name__ == "__main__":
    HTTPServer(("0.0.0.0", int(os.environ["PORT"])), Handler).serve_forever()
