"""The small rubric of the benchmarks as a scorer of Inspect AI: tests/guests/shared/small.rs says the same in Rust.

    python inspect_rubric.py <folder>: judges the answers that others.py wrote there.
"""

import json
import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, mean, scorer
from inspect_ai.solver import generate


@scorer(metrics=[mean()])
def judges_a_version():
    async def score(state, target):
        answer = json.loads(state.output.completion)
        right = Path(state.metadata["fact"]).read_text().splitlines()
        facts = [
            ("wrong_package", right[0] == answer["package"]),
            ("wrong_version", right[1] == answer["version"]),
            ("wrong_files", right[2:] == answer["files"]),
        ]
        holding = sum(holds for _, holds in facts)
        wrong = [mode for mode, holds in facts if not holds]
        return Score(value=holding / len(facts), explanation=" ".join(wrong))

    return score


folder = Path(sys.argv[1])
cases = json.loads((folder / "cases.json").read_text())
samples = [Sample(id=case["id"], input="fix it", metadata={"fact": case["fact"]}) for case in cases]
answers = [ModelOutput.from_content("mockllm/model", case["answer"]) for case in cases]
for answer in answers:
    # Else the tokens are counted, by a list that is fetched from the network.
    answer.usage = ModelUsage()
logs = eval(
    Task(dataset=samples, solver=generate(), scorer=judges_a_version()),
    model=get_model("mockllm/model", custom_outputs=answers),
    log_dir=str(folder / "logs"),
    display="none",
)
assert logs[0].status == "success", logs[0].error
assert logs[0].results.completed_samples == len(cases)
assert logs[0].results.scores[0].metrics["mean"].value == 1.0
