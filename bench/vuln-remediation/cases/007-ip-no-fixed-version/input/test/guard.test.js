'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { allowed } = require('../src/guard');

test('a private address is not allowed', () => {
  assert.strictEqual(allowed('10.0.0.1'), false);
});
