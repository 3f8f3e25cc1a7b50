'use strict';

const { WebSocket } = require('ws');

exports.connect = (url) => new WebSocket(url);
