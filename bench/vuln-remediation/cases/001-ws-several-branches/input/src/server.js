'use strict';

const { WebSocketServer } = require('./transport');
const { parseMessage } = require('./message');

function start(port) {
  const server = new WebSocketServer({ port });
  server.on('connection', (socket) => {
    socket.on('message', (raw) => {
      const message = parseMessage(raw);
      for (const client of server.clients) client.send(JSON.stringify(message));
    });
  });
  return server;
}

module.exports = { start };
