'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { between } = require('../src');

test('tags in a range come newest first', () => {
  assert.deepStrictEqual(between(['v1.0.0', 'v1.2.0', 'v2.0.0', 'nightly'], '^1.0.0'), ['1.2.0', '1.0.0']);
});
