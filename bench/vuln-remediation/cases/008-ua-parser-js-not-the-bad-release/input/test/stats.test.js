'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { browsers } = require('../src/stats');

test('what is no browser is unknown', () => {
  assert.deepStrictEqual(browsers(['', '']), { unknown: 2 });
});
