#!/usr/bin/env python3
"""Codex CLI: `codex exec --json`.

The format is that of the documentation of `codex exec` ("Non-interactive mode", Codex CLI 0.114): JSON lines. `turn.completed` has
the `usage`, which counts from the start of the thread, so the last one counts; `input_tokens` contain `cached_input_tokens`, and
`output_tokens` contain those of reasoning. `turn.failed` and `error` say why there is none. Codex prints tokens and no dollars:
without `--price` nothing is started.
"""

from common import Report, serve

FLAGS = ["--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]


def work(task):
    # Before the agent costs anything.
    task.need_price()
    command = ["codex", "exec", *FLAGS, *task.named_model(), *task.extra, "-"]
    ended = task.run(command, stdin=task.prompt)
    events = ended.objects()
    report = Report(
        cost_usd=cost(task, events),
        version=task.version("codex"),
        answer=last_message(events),
        problem=problem(events),
    )
    return ended, report


def cost(task, events):
    usages = [event.get("usage") for event in events if event.get("type") == "turn.completed"]
    tokens = [usages[-1].get(key) for key in ("input_tokens", "cached_input_tokens", "output_tokens")] if usages else []
    is_known = tokens and all(isinstance(count, int) and count >= 0 for count in tokens)
    return task.price(tokens) if is_known else None


def last_message(events):
    items = [event.get("item", {}) for event in events if event.get("type") == "item.completed"]
    texts = [item.get("text") for item in items if item.get("type") == "agent_message"]
    return texts[-1] if texts else None


def problem(events):
    failures = [event for event in events if event.get("type") == "turn.failed"]
    if failures:
        return f"codex: turn.failed: {failures[-1].get('error', {}).get('message')}"
    return None if any(event.get("type") == "turn.completed" for event in events) else "codex: no turn was completed"


if __name__ == "__main__":
    serve("codex", work)
