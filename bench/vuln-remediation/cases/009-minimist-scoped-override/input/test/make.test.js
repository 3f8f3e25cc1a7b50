'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { plan } = require('../src/make');

test('every key is a file', () => {
  assert.deepStrictEqual(plan("{a: 1, 'b/c': [2]}"), [
    { file: 'a', body: '1' },
    { file: 'b/c', body: '[2]' },
  ]);
});
