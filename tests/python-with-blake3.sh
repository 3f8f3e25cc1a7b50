#!/usr/bin/env bash
# Prints the interpreter that finds PyPI's `blake3`, which docs/verifier needs. It is installed once, below the folder that is named,
# and away from whatever the machine has. Tests that run at the same time wait for each other.
set -euo pipefail
folder=$1
mkdir -p "$folder"
exec 9>"$folder/.lock"
flock 9
if ! "$folder/bin/python" -c 'import blake3' 2>/dev/null; then
  python3 -m venv "$folder" >&2
  "$folder/bin/python" -m pip install --quiet blake3 >&2
fi
echo "$folder/bin/python"
