'use strict';

const { join } = require('./join');

async function load(data) {
  const { getDocument } = require('pdfjs-dist/legacy/build/pdf.js');
  return getDocument({ data, useSystemFonts: true }).promise;
}

async function text(data, open = load) {
  const document = await open(data);
  const pages = [];
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const content = await page.getTextContent();
    pages.push(join(content.items));
  }
  return pages;
}

module.exports = { text };
