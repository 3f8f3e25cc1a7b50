'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { parseMessage } = require('../src/message');

test('a message is trimmed', () => {
  assert.deepStrictEqual(parseMessage('{"text":" hi ","at":3}'), { text: 'hi', at: 3 });
});

test('a message without a text is refused', () => {
  assert.throws(() => parseMessage('{}'), TypeError);
});
