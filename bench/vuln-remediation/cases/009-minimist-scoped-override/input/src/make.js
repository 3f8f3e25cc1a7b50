'use strict';

const fs = require('node:fs');
const path = require('node:path');
const JSON5 = require('json5');
const mkdirp = require('mkdirp');

function plan(text) {
  return Object.entries(JSON5.parse(text)).map(([file, value]) => ({ file, body: JSON.stringify(value) }));
}

function make(root, text) {
  for (const { file, body } of plan(text)) {
    const target = path.join(root, file);
    mkdirp.sync(path.dirname(target));
    fs.writeFileSync(target, body);
  }
}

module.exports = { make, plan };
