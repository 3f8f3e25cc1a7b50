'use strict';

const semver = require('semver');

function between(tags, range) {
  const versions = tags.map((tag) => semver.clean(tag)).filter(Boolean);
  return semver.rsort(versions.filter((version) => semver.satisfies(version, range)));
}

module.exports = { between };
