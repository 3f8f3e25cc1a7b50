#!/usr/bin/env bash
# Shows that what is shipped gives the same bytes on x86-64 and on aarch64: every bench is scored by both programs, all that they say
# is compared byte for byte but the lines of records, which state times, and each verifies, by scoring again, what the other has
# recorded. The guests' code is compiled for each architecture, so two compilers' backends and two programs are compared.
#
#   bash tests/second-architecture.sh     takes target/dist-out/, which it has host/dist.sh make where it is not there
#
# It runs on x86-64, with Debian's qemu-user for the other. eval-host starts itself again to compile a rubric, so the kernel has to
# know what to do with an aarch64 program. Where it does not, that is arranged in a user namespace which ends with this script
# (Linux 6.7), and nothing of the machine is changed.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n== %s\n' "$*"; }

out=${CARGO_TARGET_DIR:-target}/dist-out
native=$out/eval-host-x86_64-linux
foreign=$out/eval-host-aarch64-linux
if ! [ -x "$native" ] || ! [ -x "$foreign" ]; then
  bash host/dist.sh
fi

if [ "$(uname -m)" != x86_64 ]; then
  echo "this runs on x86-64" >&2
  exit 2
fi
if ! command -v qemu-aarch64 >/dev/null; then
  say "qemu-user"
  as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
  as_root apt-get update
  as_root apt-get install --yes --no-install-recommends qemu-user
fi

runs_here() { "$foreign" --version >/dev/null 2>&1; }
if ! runs_here; then
  if [ "${1:-}" = --in-namespace ]; then
    folder=/proc/sys/fs/binfmt_misc
    mount -t binfmt_misc binfmt_misc $folder
    # The beginning of a 64-bit little-endian ELF file for machine 183. `F` opens the emulator once, now.
    magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf ':%s:M::%s:%s:%s:F' aarch64 "$magic" "$mask" "$(command -v qemu-aarch64)" >$folder/register
    runs_here
  else
    exec unshare --user --map-root-user --mount -- bash tests/second-architecture.sh --in-namespace || {
      echo "register qemu-aarch64 with the kernel (Debian's qemu-user-binfmt), or allow user namespaces" >&2
      exit 1
    }
  fi
fi

# Emulated, a compiler takes many times as long.
export EVAL_HOST_COMPILE_CPU_SECONDS=7200 EVAL_HOST_COMPILE_SECONDS=7200

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Each with a memory of stores and compiled code of its own.
on() {
  local architecture=$1 program=$native
  shift
  if [ "$architecture" = aarch64 ]; then program=$foreign; fi
  XDG_STATE_HOME="$scratch/$architecture/state" XDG_CACHE_HOME="$scratch/$architecture/cache" "$program" "$@"
}

lines() { grep -v '^{"kind":"record"' "$1"; }

for bench in bench/*/registration.toml; do
  task_class=$(basename "$(dirname "$bench")")
  for architecture in x86_64 aarch64; do
    say "$task_class on $architecture"
    store=$scratch/$architecture/$task_class
    time on "$architecture" run --task-class="$task_class" --out="$store" --trust-on-first-use --quiet >"$store.jsonl"
    on "$architecture" export "$store"/runs/*.json --out="$store" --to="$store.tar"
  done
  cmp <(lines "$scratch/x86_64/$task_class.jsonl") <(lines "$scratch/aarch64/$task_class.jsonl")
  say "$task_class: the same $(lines "$scratch/x86_64/$task_class.jsonl" | wc -l) lines"
  say "$task_class: each scores again what the other recorded"
  time on aarch64 verify --replay "$scratch/x86_64/$task_class.tar"
  time on x86_64 verify --replay "$scratch/aarch64/$task_class.tar"
done
