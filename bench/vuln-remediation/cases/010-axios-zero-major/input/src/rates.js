'use strict';

const axios = require('axios');

async function rate(from, to, client = axios) {
  const { data } = await client.get('https://rates.example.invalid/latest', { params: { base: from }, timeout: 5000 });
  const value = data.rates[to];
  if (value === undefined) throw new RangeError(`no rate for ${to}`);
  return value;
}

module.exports = { rate };
