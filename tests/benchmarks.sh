#!/usr/bin/env bash
# Runs the benchmarks and writes docs/benchmarks.md anew: what this machine is, every figure, and which requirements hold.
#
#   bash tests/benchmarks.sh [--profile NAME] [--quick] [--others] [--to FILE]
#
# Wants a machine that does nothing else, 4 GB below TMPDIR and some fifteen minutes, of which a part is building. A requirement
# that does not hold is written down and fails nothing.
#
#   --profile NAME   the profile to build with; `bench` unless another is named. `dist` is what is shipped.
#   --quick          far fewer cases and turns: shows that everything works, and its figures mean little
#   --others         Inspect AI and promptfoo too, installed from their registries into target/others
#   --to FILE        writes another document
set -euo pipefail
cd "$(dirname "$0")/.."

# Their versions are named, so that figures of two days can be compared.
inspect_ai=0.3.285
promptfoo=0.121.20

profile=bench quick=() others=no to=docs/benchmarks.md
while [ $# -gt 0 ]; do
  case $1 in
    --profile) profile=$2; shift ;;
    --quick) quick=(--quick) ;;
    --others) others=yes ;;
    --to) to=$2; shift ;;
    *) echo "error: $1 is no option of this script; see its first lines" >&2; exit 2 ;;
  esac
  shift
done

benches=(scoring process evidence)
others_folder=$PWD/target/others
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

say() { printf '== %s\n' "$*" >&2; }

# What a benchmark prints with --table goes into a file of its own.
run_bench() {
  say "$1"
  cargo bench --locked --workspace --profile "$profile" --bench "$1" -- --table "${quick[@]}" >"$work/$1"
}

# Whatever cannot be installed is missing, and the document says so. What is there already needs no network.
install_others() {
  say "Inspect AI and promptfoo"
  mkdir -p "$others_folder/promptfoo"
  if [ -x "$others_folder/inspect/bin/pip" ] || python3 -m venv "$others_folder/inspect"; then
    "$others_folder/inspect/bin/pip" install --quiet --disable-pip-version-check "inspect-ai==$inspect_ai" >&2 || true
  fi
  local manifest=$others_folder/promptfoo/node_modules/promptfoo/package.json
  grep -q "\"version\": \"$promptfoo\"" "$manifest" 2>/dev/null ||
    npm install --silent --no-fund --no-audit --prefix "$others_folder/promptfoo" "promptfoo@$promptfoo" >&2 || true
}

run_others() {
  local cases=1000
  [ ${#quick[@]} = 0 ] || cases=200
  install_others
  python3 tests/benches/others/others.py "$others_folder" "$cases" >"$work/others"
}

# `name<TAB>value<TAB>unit[<TAB>required<TAB>verdict]` as rows of a table: those of which nothing is required, and those of which
# something is.
figures() {
  printf '| figure | value | unit |\n|---|--:|---|\n'
  awk -F'\t' 'NF == 3 { gsub(/\|/, "\\|"); print "| " $1 " | " $2 " | " $3 " |" }' "$@"
}

requirements() {
  printf '| what | measured | required | |\n|---|--:|--:|---|\n'
  awk -F'\t' 'NF >= 5 { gsub(/\|/, "\\|"); print "| " $1 " | " $2 " " $3 " | " $4 ($3 == "times" ? "" : " " $3) " | " ($5 == "holds" ? $5 : "**" $5 "**") " |" }' "$@"
}

machine() {
  local temp=${TMPDIR:-/tmp} commit
  commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
  [ -z "$(git status --porcelain --untracked-files=no -- . ":!$to" 2>/dev/null)" ] || commit="$commit, with changes"
  local cpu
  cpu=$(awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo)
  printf '| | |\n|---|---|\n'
  printf '| processor | %s |\n' "${cpu:-$(uname -m)}"
  printf '| cores | %s |\n' "$(nproc)"
  printf '| memory | %s |\n' "$(awk '/^MemTotal:/ { printf "%.1f GB", $2 * 1024 / 1e9 }' /proc/meminfo)"
  printf '| kernel | %s |\n' "$(uname -sr)"
  printf '| filesystem of the temporary folder | %s |\n' "$(df --output=fstype "$temp" | tail -n 1)"
  printf '| load when it began, when it ended | %s, %s |\n' "$load_before" "$(cut -d' ' -f1 /proc/loadavg)"
  printf '| toolchain | %s |\n' "$(rustc --version)"
  printf '| profile | `%s` |\n' "$profile"
  printf '| commit | %s |\n' "$commit"
  printf '| date | %s |\n' "$(date -u +%Y-%m-%d)"
}

about_others() {
  cat <<'PROSE'

## Inspect AI and promptfoo

The same small rubric (it reads one file, parses the answer's JSON and compares) over answers that are there already, in programs
that many use: a scorer of Inspect AI behind its mock model, and an assertion in JavaScript of promptfoo behind its `echo` provider.
No model is asked and the network is not used. The time per case is that of a process with all cases less that of a process with one, so
starting the program is no part of it. Compare it with the time per case of a run of small cases above, and with care: each of the three
writes down something else of a case, and of the three only eval-host keeps the rubric in a sandbox here.

PROSE
  if [ ! -e "$work/others" ]; then
    printf 'Not measured in this run: `--others` measures them.\n'
    return
  fi
  figures "$work/others"
  # Sentences about what could not be measured.
  awk -F'\t' 'NF == 1 { print "\n" $0 }' "$work/others"
}

document() {
  cat <<'PROSE'
# Benchmarks

What eval-host costs, as one machine measured it. `bash tests/benchmarks.sh` writes this page and nobody edits it;
`cargo bench --workspace --bench scoring` (or `process`, or `evidence`) prints the figures of one part.
PROSE
  [ ${#quick[@]} = 0 ] || cat <<'PROSE'

**This was a quick run**, of few cases and few turns. It shows that everything can be measured; the figures say little.
PROSE
  printf '\n## The machine\n\n'
  machine
  cat <<'PROSE'

Times are the least of several turns, unless a row says otherwise, and what is compared takes turns: whatever else the machine does
disturbs both sides. CPU time is of the process itself, in the kernel and out of it. Everything is compiled before, but for the
row that says so. The stores lie in the temporary folder, so an fsync costs what it costs there.

## What is required

PROSE
  requirements "${benches[@]/#/$work/}"
  cat <<'PROSE'

## Scoring

In one process: one call of a rubric, the same as a native call and as a process of Python's, one thread and two, and how long it takes to
load a component that was compiled before and one that was not.

PROSE
  figures "$work/scoring"
  cat <<'PROSE'

## Processes

From the start of a process to its exit. The small cases have four short files each, none like another, and every run begins with a new
store. Memory is the most that was resident, the program's own file among it.

PROSE
  figures "$work/process"
  cat <<'PROSE'

## Evidence

Appends are real ones, each with a new object, to one chain; beside each, a loop writes files of the same sizes and makes them durable in
the same order. The figure of an append is the middle of a stretch.

PROSE
  figures "$work/evidence"
  about_others
}

load_before=$(cut -d' ' -f1 /proc/loadavg)
for bench in "${benches[@]}"; do run_bench "$bench"; done
[ "$others" = no ] || run_others
document >"$work/document"
mv "$work/document" "$to"
say "$to"
