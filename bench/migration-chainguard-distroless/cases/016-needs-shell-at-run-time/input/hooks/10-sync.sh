#!/bin/sh
set -eu
git -C /var/lib/repo pull --ff-only
