'use strict';

function label(name) {
  return name ? `Hello, ${name}` : 'Hello';
}

module.exports = { label };
