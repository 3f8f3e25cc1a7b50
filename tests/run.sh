#!/usr/bin/env bash
# Runs every test, after installing what the tests need and the machine lacks. Continuous integration calls this too.
set -euo pipefail
cd "$(dirname "$0")/.."

bash tests/install.sh
export PATH="$PATH:$PWD/target/tools/bin"

say() { printf '\n== %s\n' "$*"; }

say "rubrics, natively"
(cd rubrics && cargo test --locked --workspace)

say "host"
cargo test --locked --workspace

say "benches"
# The binary that the tests ran. Building it alone would select other features, and wasmtime would be built once more.
host=target/debug/eval-host-under-test
# A store and a memory of stores that nobody has seen before.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_STATE_HOME="$scratch/state"
"$host" fence
for bench in bench/*/registration.toml; do
  task_class=$(basename "$(dirname "$bench")")
  "$host" rubric test --task-class="$task_class" >/dev/null
  "$host" rubric attack --task-class="$task_class" --check >/dev/null
  "$host" run --task-class="$task_class" --out="$scratch/store" --trust-on-first-use --quiet
done
"$host" verify --out="$scratch/store" --replay
