'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { label } = require('../src/label');

test('a name is greeted', () => {
  assert.strictEqual(label('Ada'), 'Hello, Ada');
});
