#!/usr/bin/env python3
"""Claude Code: `claude -p --output-format json`.

The format is that of the documentation of Claude Code 2.1 (headless mode, and the result message of the Agent SDK, whose bundled
program was 2.1.240): one JSON object of type `result`. Its `total_cost_usd` is there for every ending; `subtype` is `success` or
begins with `error_`, as `error_max_budget_usd` and `error_max_turns` do; `modelUsage` has the cost per model.
"""

from common import Report, dollars, serve

# A program that replaces itself while it is measured is not the program that was measured.
QUIET = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}


def work(task):
    command = ["claude", "-p", "--output-format", "json", "--dangerously-skip-permissions"]
    command += ["--max-budget-usd", task.limit(), *task.named_model(), *task.extra]
    # The prompt goes through stdin: as an argument it could be mistaken for a flag.
    ended = task.run(command, stdin=task.prompt, env=QUIET)
    results = [found for found in ended.objects() if found.get("type") == "result"]
    result = results[-1] if results else {}
    report = Report(
        cost_usd=dollars(result.get("total_cost_usd")),
        model=dearest(result.get("modelUsage") or {}),
        version=task.version("claude"),
        answer=result.get("result"),
        problem=problem(result),
    )
    return ended, report


def dearest(usage):
    """The model that most was spent on. Claude Code uses small models for small things beside it."""
    return max(usage, key=lambda model: dollars(usage[model].get("costUSD")) or 0, default=None)


def problem(result):
    subtype = result.get("subtype", "there is no result")
    if subtype == "success" and not result.get("is_error"):
        return None
    return f"claude: {subtype}: {result.get('result') or '; '.join(result.get('errors') or [])}"


if __name__ == "__main__":
    serve("claude-code", work)
