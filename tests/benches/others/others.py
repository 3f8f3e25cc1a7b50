"""What a case costs in Inspect AI and in promptfoo: the small rubric of the benchmarks over answers that are there already.

    others.py <folder with what was installed> <cases>

Prints lines like a benchmark with `--table`, and a sentence for a program that is missing or does not do what it should. A case is a
file that says what is right and an answer; no model is asked and the network is not used. What a case costs is the difference between a
process with all cases and one with a single case, each as fast as the fastest of three. tests/benchmarks.sh runs this.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ANSWER = {"package": "log4j-core", "version": "2.17.1", "files": ["pom.xml", "app/pom.xml"], "confidence": 0.9}
RIGHT = "log4j-core\n2.17.1\npom.xml\napp/pom.xml\n"
TURNS = 3

here = Path(__file__).resolve().parent
installed = Path(sys.argv[1]).resolve()
python = installed / "inspect/bin/python"
promptfoo = installed / "promptfoo/node_modules/.bin/promptfoo"


class Failed(Exception):
    """A program did not judge every answer right."""


def write_cases(folder, count):
    """Makes a case's file for each, and the list of all in the form of either program."""
    cases = []
    for number in range(1, count + 1):
        fact = folder / f"{number:06}.txt"
        fact.write_text(RIGHT)
        cases.append({"id": fact.stem, "fact": str(fact), "answer": json.dumps(ANSWER)})
    (folder / "cases.json").write_text(json.dumps(cases))
    config = {
        "prompts": ["{{answer}}"],
        "providers": ["echo"],
        "defaultTest": {"assert": [{"type": "javascript", "value": f"file://{here / 'promptfoo_rubric.cjs'}"}]},
        "tests": [{"vars": {"answer": case["answer"], "fact": case["fact"]}} for case in cases],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(config))


def inspect_ai(folder, _count):
    run([python, here / "inspect_rubric.py", folder], folder)


def promptfoo_eval(folder, count):
    out = folder / "results.json"
    config = folder / "promptfooconfig.json"
    run([promptfoo, "eval", "-c", config, "-o", out, "--no-table", "--no-progress-bar", "--no-cache"], folder)
    stats = json.loads(out.read_text())["results"]["stats"]
    if stats["successes"] != count:
        raise Failed(f"{count} answers are right, and promptfoo says {stats}")


def run(command, folder):
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(folder / "config")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **quiet}
    ended = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if ended.returncode != 0:
        raise Failed(f"{command[0]} ended with {ended.returncode}:\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}")


def seconds(work, count):
    """The fastest of a few processes that judge so many cases, each in a folder of its own."""
    least = float("inf")
    for _ in range(TURNS):
        with tempfile.TemporaryDirectory() as folder:
            write_cases(Path(folder), count)
            begin = time.monotonic()
            work(Path(folder), count)
            least = min(least, time.monotonic() - begin)
    return least


def version_of_inspect_ai():
    code = "import importlib.metadata; print(importlib.metadata.version('inspect-ai'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def version_of_promptfoo():
    manifest = installed / "promptfoo/node_modules/promptfoo/package.json"
    return json.loads(manifest.read_text())["version"]


def main():
    count = int(sys.argv[2])
    for name, program, version, work in [
        ("Inspect AI", python, version_of_inspect_ai, inspect_ai),
        ("promptfoo", promptfoo, version_of_promptfoo, promptfoo_eval),
    ]:
        if not program.exists():
            print(f"{name} is missing on this machine.")
            continue
        try:
            one, all_of_them = seconds(work, 1), seconds(work, count)
        except Failed as error:
            print(error, file=sys.stderr)
            print(f"{name} {version()} does not run on this machine.")
            continue
        name = f"{name} {version()}"
        print(f"{name}, from start to exit with one case\t{one:.2f}\ts")
        print(f"{name}, from start to exit with {count} cases\t{all_of_them:.2f}\ts")
        print(f"{name}, time per case after the first\t{(all_of_them - one) / (count - 1) * 1e6:.0f}\tµs", flush=True)


main()
