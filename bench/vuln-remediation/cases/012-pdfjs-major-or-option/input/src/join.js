'use strict';

function join(items) {
  return items.map((item) => item.str + (item.hasEOL ? '\n' : '')).join('');
}

module.exports = { join };
