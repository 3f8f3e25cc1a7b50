'use strict';

const { createElement } = require('react');
const { label } = require('./label');

function App({ name }) {
  return createElement('h1', null, label(name));
}

module.exports = { App };
