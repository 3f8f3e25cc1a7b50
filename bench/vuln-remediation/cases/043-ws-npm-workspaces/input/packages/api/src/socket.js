'use strict';

const { WebSocketServer } = require('ws');

exports.listen = (port) => new WebSocketServer({ port });
