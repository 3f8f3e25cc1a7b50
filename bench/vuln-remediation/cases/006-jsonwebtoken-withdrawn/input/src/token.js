'use strict';

const jwt = require('jsonwebtoken');

const ALGORITHMS = ['HS256'];

function issue(user, secret) {
  return jwt.sign({ sub: user.id }, secret, { algorithm: ALGORITHMS[0], expiresIn: '15m' });
}

function subject(token, secret) {
  return jwt.verify(token, secret, { algorithms: ALGORITHMS }).sub;
}

module.exports = { issue, subject };
