'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { total } = require('../src/price');

test('prices add up', () => {
  assert.strictEqual(total([{ price: 2 }, { price: 3 }]), 5);
});
