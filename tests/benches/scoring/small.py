"""The small rubric of the benchmarks as a process per case: tests/guests/shared/small.rs says the same in Rust."""

import json
import sys

request = json.load(sys.stdin)
answer = json.loads(request["output"])
right = request["files"]["expected/fact.txt"].splitlines()
facts = [
    ("wrong_package", right[0] == answer["package"]),
    ("wrong_version", right[1] == answer["version"]),
    ("wrong_files", right[2:] == answer["files"]),
]
holding = sum(holds for _, holds in facts)
json.dump(
    {
        "passed": holding == len(facts),
        "score": holding / len(facts),
        "breakdown": [("confidence", answer["confidence"]), ("holding", holding)],
        "failure_modes": [mode for mode, holds in facts if not holds],
    },
    sys.stdout,
)
