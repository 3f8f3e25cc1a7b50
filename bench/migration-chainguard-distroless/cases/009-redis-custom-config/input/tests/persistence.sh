#!/bin/sh
set -eu
redis-cli set k v
redis-cli bgrewriteaof
test "$(redis-cli get k)" = v
