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
cargo build --locked --workspace
host=target/debug/eval-host
"$host" fence
for bench in bench/*/registration.toml; do
  task_class=$(basename "$(dirname "$bench")")
  "$host" rubric test --task-class="$task_class" >/dev/null
  "$host" run --task-class="$task_class" --out=target/test-store --quiet
done
