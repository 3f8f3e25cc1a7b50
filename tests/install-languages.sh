#!/usr/bin/env bash
# Makes rubrics with the tools of other languages, for the tests that load them: target/tools/components/. The tools come from
# the languages' own registries. Running it again changes nothing, unless a source, a version or the contract has changed.
set -euo pipefail
cd "$(dirname "$0")/.."

componentize_py=0.25.1
jco=1.35.0
componentize_js=0.23.0

tools=$PWD/target/tools
components=$tools/components
made_of=$(cat tests/install-languages.sh wit/*.wit tests/guests/python/*.py tests/guests/javascript/*.js | sha256sum)
if [ -e "$components/made-of" ] && [ "$(cat "$components/made-of")" = "$made_of" ]; then
  exit 0
fi
printf '\n== rubrics in Python and JavaScript (once, a minute or two)\n'
mkdir -p "$components"

[ -x "$tools/python/bin/pip" ] || python3 -m venv "$tools/python"
"$tools/python/bin/pip" install --quiet --disable-pip-version-check "componentize-py==$componentize_py"
# Python leaves its own compiled code beside its sources.
cp tests/guests/python/*.py "$components"
python() { "$tools/python/bin/componentize-py" -d wit -w rubric componentize -p "$components" "$@"; }
python app --stub-wasi -o "$components/python.wasm"
python app -o "$components/python-with-sockets.wasm"

# Apart from each other, because each wants other versions of what they share.
npm_install() { npm install --silent --no-fund --no-audit --prefix "$tools/$1" "@bytecodealliance/$2"; }
npm_install starlingmonkey "componentize-js@$componentize_js"
npm_install quickjs "jco@$jco"
source=$PWD/tests/guests/javascript/rubric.js wit=$PWD/wit
# On StarlingMonkey, whose maker has no command of its own.
(
  cd "$tools/starlingmonkey"
  node --input-type=module -e '
    import { componentize } from "@bytecodealliance/componentize-js";
    import { writeFile } from "node:fs/promises";
    const [sourcePath, witPath, made] = process.argv.slice(1);
    const disableFeatures = ["clocks", "fetch-event", "http", "random", "stdio"];
    const { component } = await componentize({ sourcePath, witPath, worldName: "rubric", disableFeatures });
    await writeFile(made, component);
  ' "$source" "$wit" "$components/javascript.wasm"
)
# On QuickJS.
quickjs() { "$tools/quickjs/node_modules/.bin/jco" componentize "$source" --wit "$wit" -n rubric --backend quickjs "$@"; }
quickjs --backend-qjs-disable-async -o "$components/quickjs.wasm"
quickjs -o "$components/quickjs-async.wasm"

printf '%s\n' "$made_of" >"$components/made-of"
