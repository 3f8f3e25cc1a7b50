'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { rate } = require('../src/rates');

const client = { get: async () => ({ data: { rates: { EUR: 0.9 } } }) };

test('a known currency has a rate', async () => {
  assert.strictEqual(await rate('USD', 'EUR', client), 0.9);
});

test('an unknown currency is an error', async () => {
  await assert.rejects(rate('USD', 'XXX', client), RangeError);
});
