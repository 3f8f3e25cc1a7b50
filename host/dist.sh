#!/usr/bin/env bash
# Builds what is shipped: eval-host for x86-64 and aarch64 Linux, each one file that needs nothing else, with a checksum.
#
#   bash host/dist.sh              writes target/dist-out/
#   bash host/dist.sh aarch64      for one of them only
#
# It stands with the program that it builds; tests/second-architecture.sh shows that both say the same. On a machine like Debian
# it installs what is missing: a target of rustup's and, by apt-get, a linker for the architecture that the machine has not.
#
# - static, with the gnu targets (`+crt-static`): no C library is asked for, of whatever age. Musl would be as static, and its
#   allocator takes one lock for all the threads that score. The program resolves no names and loads no libraries, which is what a
#   static glibc does badly.
# - stripped, and without the paths of this machine, so that it tells nothing of where it was built and two folders give one file.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

architectures=("$@")
if [ ${#architectures[@]} -eq 0 ]; then
  architectures=(x86_64 aarch64)
fi
# Where a caller has his target folder elsewhere, the results are there too.
target_folder=${CARGO_TARGET_DIR:-target}
out=$target_folder/dist-out

install_linker() {
  command -v "$1" >/dev/null && return
  say "$2"
  as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
  as_root apt-get update
  as_root apt-get install --yes --no-install-recommends "$2" "$3"
}

# The compilers' flags, Rust's and C's: no path of this machine. Cargo's own folder is where the dependencies' sources are.
remapped() {
  printf '%s ' "$1=$PWD=/eval-host" "$1=${CARGO_HOME:-$HOME/.cargo}=/cargo"
}

build() {
  local architecture=$1 triple=$1-unknown-linux-gnu linker=cc
  if command -v rustup >/dev/null; then
    rustup target add "$triple"
  fi
  if [ "$architecture" != "$(uname -m)" ]; then
    linker=$architecture-linux-gnu-gcc
    # Debian writes x86-64 with a hyphen in names of packages.
    local package=${architecture/_/-}
    install_linker "$linker" "gcc-$package-linux-gnu" "libc6-dev-${package/x86-64/amd64}-cross"
  fi
  say "eval-host for $architecture"
  local variable=${triple//-/_}
  # In place of whatever flags the environment has: what is shipped does not depend on who builds it.
  env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_RUSTFLAGS \
    "CARGO_TARGET_${variable^^}_LINKER=$linker" \
    "CARGO_TARGET_${variable^^}_RUSTFLAGS=-C target-feature=+crt-static $(remapped --remap-path-prefix)" \
    "CC_$variable=$linker" \
    "CFLAGS_$variable=$(remapped -ffile-prefix-map)" \
    cargo build --profile dist --locked -p eval-host --target "$triple"
  local binary=$out/eval-host-$architecture-linux
  cp "$target_folder/$triple/dist/eval-host" "$binary"
  if grep -qF -e "$PWD/" -e "${CARGO_HOME:-$HOME/.cargo}/" "$binary"; then
    echo "$binary names a folder of this machine" >&2
    exit 1
  fi
  if LC_ALL=C readelf --program-headers "$binary" | grep -q INTERP; then
    echo "$binary is not static" >&2
    exit 1
  fi
}

mkdir -p "$out"
for architecture in "${architectures[@]}"; do
  build "$architecture"
done
(cd "$out" && sha256sum eval-host-*-linux >SHA256SUMS)
say "$out"
cat "$out/SHA256SUMS"
