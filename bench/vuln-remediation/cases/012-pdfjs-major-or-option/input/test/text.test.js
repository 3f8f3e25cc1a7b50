'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { text } = require('../src/text');

const page = (...strings) => ({ getTextContent: async () => ({ items: strings.map((str) => ({ str, hasEOL: true })) }) });

test('every page gives its text', async () => {
  const open = async () => ({ numPages: 2, getPage: async (number) => page(`page ${number}`, 'end') });
  assert.deepStrictEqual(await text(new Uint8Array(), open), ['page 1\nend\n', 'page 2\nend\n']);
});
