#!/bin/sh
set -eu
grep -q 'id: secrets' rules/default.yaml
