import os
import sqlite3
from http.server import BaseHTTPRequestHandler, HTTPServer

UPLOADS = os.environ["UPLOADS"]


class Store(BaseHTTPRequestHandler):
    def do_PUT(self):
        name = os.path.basename(self.path)
        size = int(self.headers["Content-Length"])
        with open(os.path.join(UPLOADS, name), "wb") as file:
            file.write(self.rfile.read(size))
        with sqlite3.connect("/app/index.db") as index:
            index.execute("create table if not exists file (name text, size integer)")
            index.execute("insert into file values (?, ?)", (name, size))
        self.send_response(201)
        self.end_headers()


if __name__ == "__main__":
    HTTPServer(("0.0.0.0", 8000), Store).serve_forever()
