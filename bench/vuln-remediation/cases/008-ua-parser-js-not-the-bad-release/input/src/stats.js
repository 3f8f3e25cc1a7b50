'use strict';

const UAParser = require('ua-parser-js');

function browsers(agents) {
  const counts = new Map();
  for (const agent of agents) {
    const name = new UAParser(agent).getBrowser().name ?? 'unknown';
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(counts);
}

module.exports = { browsers };
