'use strict';

const fs = require('node:fs');
const path = require('node:path');
const makeDir = require('make-dir');
const spawn = require('cross-spawn');

async function write(file, text) {
  await makeDir(path.dirname(file));
  fs.writeFileSync(file, text);
  return spawn('git', ['add', file], { stdio: 'inherit' });
}

module.exports = { write };
