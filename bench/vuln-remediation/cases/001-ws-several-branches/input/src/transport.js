'use strict';

const WebSocket = require('ws');

module.exports = { WebSocketServer: WebSocket.Server };
