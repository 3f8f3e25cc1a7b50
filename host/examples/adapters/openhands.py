#!/usr/bin/env python3
"""OpenHands: `openhands --headless --json`.

The format is that of OpenHands CLI 1.16 (documentation of headless mode) and of its SDK 1.21: stdout has events as JSON lines among
lines for people, and no cost. The cost is in the conversation that OpenHands keeps, `<conversations>/<id>/base_state.json`:
`stats.usage_to_metrics` has a `model_name`, an `accumulated_cost` and an `accumulated_token_usage` for each use of a model, and
`execution_status` says how it ended, which the exit code does not. A model whose price is not known has a cost of 0 there.
"""

from common import Report, dollars, read_object, serve, total


def work(task):
    prompt, kept = task.folder / "task.txt", task.folder / "conversations"
    prompt.write_text(task.prompt, encoding="utf-8")
    kept.mkdir()
    # Environment variables are ignored unless a flag says otherwise. `--model` comes before what the user exported.
    env = {"OPENHANDS_CONVERSATIONS_DIR": str(kept), **({"LLM_MODEL": task.model} if task.model else {})}
    command = ["openhands", "--headless", "--json", "--override-with-envs", *task.extra, "-f", str(prompt)]
    ended = task.run(command, env=env)
    states = [read_object(path) for path in sorted(kept.glob("*/base_state.json"))]
    metrics = [use for state in states for use in state.get("stats", {}).get("usage_to_metrics", {}).values()]
    report = Report(
        cost_usd=cost(task, metrics),
        model=dearest(metrics),
        version=task.version("openhands"),
        answer=last_message(ended.objects()),
        problem=problem(states),
    )
    return ended, report


def cost(task, metrics):
    costs = [dollars(use.get("accumulated_cost")) for use in metrics]
    if not costs or None in costs:
        return None
    usages = [use.get("accumulated_token_usage") or {} for use in metrics]
    tokens = [sum(usage.get(key, 0) for usage in usages) for key in ("prompt_tokens", "cache_read_tokens", "completion_tokens")]
    return task.price(tokens) if total(costs) == 0 and any(tokens) else total(costs)


def dearest(metrics):
    used = max(metrics, key=lambda use: dollars(use.get("accumulated_cost")) or 0, default={})
    return used.get("model_name")


def last_message(events):
    actions = [event.get("action") or {} for event in events]
    texts = [action.get("message") for action in actions if action.get("kind") == "FinishAction"]
    return texts[-1] if texts else None


def problem(states):
    statuses = [state.get("execution_status") for state in states] or ["no conversation was kept"]
    return None if statuses == ["finished"] else f"openhands: {', '.join(map(str, statuses))}"


if __name__ == "__main__":
    serve("openhands", work)
