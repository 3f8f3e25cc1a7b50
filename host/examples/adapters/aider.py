#!/usr/bin/env python3
"""aider: `aider --message-file … --yes-always --no-git`.

What aider prints rounds the cost to cents (`Tokens: 2.1k sent, 310 received. Cost: $0.01 message, $0.01 session.`). The log of
`--analytics-log` has it exact, and is sent nowhere with `--no-analytics`: JSON lines, of which `message_send` has
`prompt_tokens`, `completion_tokens`, `cost` and `total_cost`, and `message_send_exception` says what went wrong, in the format that
the documentation of aider 0.86 describes. A model whose price aider does not know has a cost of 0 there.
"""

from common import Report, dollars, objects, serve

# Git's folders are not aider's to read, and without git it must be told which files there are.
SKIPPED = {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv"}
# A file that does not fit into a model's context is of no use in it.
MOST_BYTES = 256 * 1024
FLAGS = [
    *("--yes-always", "--no-git", "--no-stream", "--no-pretty", "--no-analytics", "--no-check-update"),
    *("--no-show-release-notes", "--no-suggest-shell-commands", "--no-detect-urls"),
]


def work(task):
    message, log = task.folder / "message.txt", task.folder / "analytics.jsonl"
    message.write_text(task.prompt, encoding="utf-8")
    log.touch()
    # Without these two, aider writes its histories into the workspace, and so into the answer.
    histories = ["--chat-history-file", task.folder / "chat.md", "--input-history-file", task.folder / "input.txt"]
    given = ["--message-file", message, "--analytics-log", log, *histories, *task.named_model(), *task.extra]
    ended = task.run([str(word) for word in ["aider", *FLAGS, *given, *files(task.workspace)]])
    events = objects(log.read_text(encoding="utf-8", errors="replace"))
    sent = [event["properties"] for event in events if event.get("event") == "message_send"]
    faults = [event["properties"].get("exception") for event in events if event.get("event") == "message_send_exception"]
    report = Report(
        cost_usd=cost(task, sent),
        model=model(sent),
        version=task.version("aider"),
        problem=f"aider: {faults[-1]}" if faults else None,
    )
    return ended, report


def files(workspace):
    """Absolute names: one that begins with a dash must not become a flag."""
    found = [path for path in sorted(workspace.rglob("*")) if path.is_file() and not path.is_symlink()]
    is_skipped = [bool(SKIPPED & set(path.relative_to(workspace).parts)) for path in found]
    return [path for path, skip in zip(found, is_skipped) if not skip and path.stat().st_size <= MOST_BYTES]


def cost(task, sent):
    total = dollars(sent[-1].get("total_cost")) if sent else None
    tokens = [sum(event.get(key, 0) for event in sent) for key in ("prompt_tokens", "completion_tokens")]
    return task.price((tokens[0], 0, tokens[1])) if total == 0 and any(tokens) else total


def model(sent):
    """aider hides the names of models that it does not know."""
    name = sent[-1].get("main_model") if sent else None
    return None if name in (None, "None") or name.endswith("/REDACTED") else name


if __name__ == "__main__":
    serve("aider", work, can_respond=False)
