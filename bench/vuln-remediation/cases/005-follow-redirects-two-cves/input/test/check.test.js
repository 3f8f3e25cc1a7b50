'use strict';

const assert = require('node:assert');
const test = require('node:test');
const { broken } = require('../src/check');

const answer = (codes) => (url, done) => {
  done({ statusCode: codes[url] });
  return { on() {} };
};

test('links that answer with an error are broken', async () => {
  const get = answer({ a: 200, b: 404, c: 500 });
  assert.deepStrictEqual(await broken(['a', 'b', 'c'], get), ['b', 'c']);
});
