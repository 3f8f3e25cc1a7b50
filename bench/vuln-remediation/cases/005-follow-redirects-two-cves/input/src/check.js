'use strict';

const { https } = require('follow-redirects');

function status(url, get = https.get) {
  return new Promise((resolve, reject) => {
    get(url, (response) => resolve(response.statusCode)).on('error', reject);
  });
}

async function broken(urls, get) {
  const codes = await Promise.all(urls.map((url) => status(url, get)));
  return urls.filter((_, index) => codes[index] >= 400);
}

module.exports = { broken, status };
