'use strict';

function parseMessage(raw) {
  const message = JSON.parse(raw);
  if (typeof message.text !== 'string') throw new TypeError('a message has a text');
  return { text: message.text.trim(), at: message.at ?? null };
}

module.exports = { parseMessage };
