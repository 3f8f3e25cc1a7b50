import http from "node:http";

http.createServer((_, response) => response.end("alive\n")).listen(8081);
