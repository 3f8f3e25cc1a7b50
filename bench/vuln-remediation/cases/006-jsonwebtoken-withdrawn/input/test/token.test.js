'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { issue, subject } = require('../src/token');

test('a token carries its subject', () => {
  assert.strictEqual(subject(issue({ id: 'u1' }, 'secret'), 'secret'), 'u1');
});
