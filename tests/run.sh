#!/usr/bin/env bash
# Runs every test, after installing what the tests need and the machine lacks. Continuous integration calls this too.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

# rust-toolchain.toml names the targets, but rustup adds none by itself where RUSTUP_AUTO_INSTALL is 0. cargo-component
# wants wasm32-wasip1.
if command -v rustup >/dev/null; then
  say "wasm targets"
  rustup target add wasm32-wasip2 wasm32-wasip1
fi

# Rubric authors may use it, so a test does. An unoptimised build of it does the same work and takes half the time.
tools="$PWD/target/tools"
export PATH="$PATH:$tools/bin"
if ! command -v cargo-component >/dev/null; then
  say "cargo-component (once, a few minutes)"
  CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-component --version 0.21.1 --locked --debug --root "$tools"
fi

say "rubrics, natively"
(cd rubrics && cargo test --locked --workspace)

say "host"
cargo test --locked --workspace
