'use strict';

const ip = require('ip');

function allowed(address) {
  return ip.isPublic(address);
}

module.exports = { allowed };
