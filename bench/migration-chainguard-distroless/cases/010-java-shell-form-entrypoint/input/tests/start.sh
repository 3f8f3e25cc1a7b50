#!/bin/sh
set -eu
docker run --rm gateway --version
