#!/bin/sh
set -eu
curl -fsS http://localhost/ | grep -q 'Read me first'
