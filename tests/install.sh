#!/usr/bin/env bash
# Installs what the checks need and the machine lacks. Running it again changes nothing.
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
if ! command -v cargo-component >/dev/null && ! [ -x target/tools/bin/cargo-component ]; then
  say "cargo-component (once, a few minutes)"
  CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-component --version 0.21.1 --locked --debug --root target/tools
fi

# The crash tests watch and break the system calls of a writer, checkpoints and stores are checked by another implementation,
# JUnit files are read by another parser, one test wants a single CPU, and honest agents use git and node in their cage.
missing=()
need() { command -v "$1" >/dev/null || missing+=("$2"); }
need strace strace
need openssl openssl
need python3 python3
python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
need taskset util-linux
need git git
need node nodejs
need npm npm
if [ ${#missing[@]} -gt 0 ]; then
  say "${missing[*]}"
  as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
  as_root apt-get update
  as_root apt-get install --yes --no-install-recommends "${missing[@]}"
fi

bash tests/install-languages.sh
