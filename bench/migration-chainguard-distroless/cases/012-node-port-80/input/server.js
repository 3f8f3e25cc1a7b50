const http = require("node:http");

http
  .createServer((request, response) => response.end(`${request.url}\n`))
  .listen(Number(process.env.PORT));
