"""What the adapters share: the request, the prompt, the agent's process and the answer. docs/agents.md says how to use them.

An adapter stands between eval-host and one command-line agent. It starts the agent in the workspace, reads from the agent's own
output what the case cost and which model answered, and says so in eval-host's protocol (docs/live-runs.md). It must never invent
a cost: a cost that nobody printed is not written, and eval-host then charges what it had set aside.

Python 3.9 or later, and its standard library alone.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal
from pathlib import Path

PROTOCOL = 1
# How many lines of an output that cannot be read are shown.
SHOWN_LINES = 20


class Failed(Exception):
    """What a person has to do something about."""


class Report:
    """What an agent's output says of a case, as far as it says it."""

    def __init__(self, cost_usd=None, model=None, version=None, answer=None, problem=None):
        self.cost_usd = cost_usd
        self.model = model
        self.version = version
        # The agent's last message, which is the answer with `--respond`.
        self.answer = answer
        # Why this is no finished work, whatever the agent's exit code is.
        self.problem = problem


class Ended:
    """An agent that has ended."""

    def __init__(self, code, stdout):
        self.code = 128 - code if code < 0 else code
        self.stdout = stdout

    def objects(self):
        return objects(self.stdout)


class Task:
    """One case, as an agent has to hear of it. `folder` is for the adapter's files: it is outside of the workspace."""

    def __init__(self, options, extra, request, folder):
        self.options = options
        self.extra = extra
        self.model = options.model
        self.workspace = Path(request["workspace"])
        self.budget_usd = float(request["budget_usd"])
        self.folder = Path(folder)
        self.prompt = prompt(options.prompt, self.workspace, self.budget_usd)
        self.prices = dict(options.price)
        # What would have made the cost known.
        self.hint = None

    def limit(self):
        """The budget for an agent that can hold one. To such agents 0 means no limit at all, so it never is 0."""
        return format(Decimal(str(max(self.budget_usd, 0.000001))), "f")

    def named_model(self, flag="--model"):
        return [flag, self.model] if self.model else []

    def run(self, command, stdin=None, env=None):
        """Runs the agent to its end. Its stderr is the adapter's, and what it prints is kept."""
        try:
            done = subprocess.run(
                command,
                cwd=self.workspace,
                env={**os.environ, **(env or {})},
                input=b"" if stdin is None else stdin.encode(),
                stdout=subprocess.PIPE,
                check=False,
            )
        except OSError as error:
            raise Failed(
                f"`{command[0]}` does not start ({error.strerror}): install it, and name the folder with `[sut] read`, unless "
                "that is one of the system's"
            ) from error
        return Ended(done.returncode, done.stdout.decode(errors="replace"))

    def version(self, program):
        """What `--version` says, if it says a version: who answered is worth knowing, and no reason to fail."""
        try:
            said = subprocess.run([program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError):
            return None
        found = re.search(r"\d+(\.\d+)+[\w.+-]*", said.stdout.decode(errors="replace"))
        return found.group() if found else None

    def need_price(self):
        """For an agent that never prints dollars: call it before the agent costs anything."""
        if self.model not in self.prices:
            raise Failed(self.price_wanted())

    def price(self, tokens):
        """Dollars for (input, of which cached, output) tokens by `--price`, or None: a price is never guessed."""
        if self.model not in self.prices:
            self.hint = self.price_wanted()
            return None
        fresh, cached, out = self.prices[self.model]
        given, of_cache, written = tokens
        return (max(given - of_cache, 0) * fresh + of_cache * cached + written * out) / 1_000_000

    def price_wanted(self):
        model = self.model or "<model>"
        named = "" if self.model else "name the model with --model, and "
        return f"no price of `{model}` is known: {named}give --price {model}=<in>,<cached>,<out>, in dollars per million tokens"


def objects(text):
    """The JSON objects among the lines of a text. Agents print banners and farewells between them."""
    found = []
    for line in text.splitlines():
        if line.lstrip().startswith("{"):
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
    return found


def read_object(path):
    """The JSON object in a file that the agent should have written, or an empty one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def dollars(value):
    """A number that can be a cost, or None."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value >= 0 else None


def total(costs):
    """A sum of dollars as they were printed: binary fractions would add cents of cents of their own."""
    return float(sum(Decimal(str(cost)) for cost in costs))


def prompt(name, workspace, budget_usd):
    """The prompt's text. A relative name is looked for beside the adapters: the working directory is the agent's."""
    path = Path(__file__).resolve().parent / name
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise Failed(f"the prompt `{path}` cannot be read ({error.strerror}): name a file with --prompt") from error
    return text.replace("{workspace}", str(workspace)).replace("{budget_usd}", format(Decimal(str(budget_usd)), "f"))


def per_million(text):
    """`model=in,cached,out`"""
    model, _, numbers = text.rpartition("=")
    prices = [float(number) for number in numbers.split(",")]
    if not model or len(prices) != 3 or not all(dollars(price) is not None for price in prices):
        raise ValueError
    return model, prices


def read_request():
    try:
        request = json.load(sys.stdin)
        if request["protocol"] != PROTOCOL:
            raise Failed(f"the request has protocol {request['protocol']}, and this adapter speaks {PROTOCOL}")
        return request
    except (ValueError, KeyError, TypeError) as error:
        raise Failed("stdin has no request: an adapter is started by `eval-host run --live`") from error


def json_object(text):
    """The text of the one JSON object that a message consists of, also where the model put it into a fence; or None."""
    inner = re.fullmatch(r"\s*(?:```(?:json)?\n)?(.*?)(?:\n```)?\s*", text or "", re.DOTALL).group(1)
    try:
        return inner if isinstance(json.loads(inner), dict) else None
    except ValueError:
        return None


def identity(name, report):
    """Who answered, in the form that eval-host takes: texts of 1 to 200 characters that can be printed."""
    texts = {"name": name, "version": report.version, "model": report.model}
    clean = {key: "".join(filter(str.isprintable, text))[:200] for key, text in texts.items() if text}
    return json.dumps({key: text for key, text in clean.items() if text})


def write(variable, text):
    """Writes to the file that a variable names, if eval-host has set it."""
    if os.environ.get(variable):
        Path(os.environ[variable]).write_text(text + "\n", encoding="utf-8")


def tell(options, name, report):
    """Says the cost and who answered, also for work that failed: it was paid for."""
    cost = None if report.cost_usd is None else format(Decimal(str(report.cost_usd)), "f")
    if not options.respond:
        write("EVAL_HOST_AGENT_FILE", identity(name, report))
        if cost is not None:
            write("EVAL_HOST_COST_FILE", cost)
        return
    output = None if report.problem else json_object(report.answer)
    parts = {"output": output, "cost_usd": cost, "agent": identity(name, report)}
    print("{" + ",".join(f'"{key}":{text}' for key, text in parts.items() if text is not None) + "}")


def trouble(name, options, task, ended, report):
    """Why this is no answer, or None."""
    if ended.code != 0:
        return f"{name} ended with status {ended.code}"
    if report.cost_usd is None:
        return f"{name} did not say what it cost" + (f": {task.hint}" if task.hint else "")
    if options.respond and json_object(report.answer) is None:
        return "the agent's last message is not one JSON object: let the prompt ask for that, or leave --respond away"
    return None


def answer(name, work, options, extra):
    if not options.respond and not os.environ.get("EVAL_HOST_COST_FILE"):
        raise Failed('EVAL_HOST_COST_FILE is not set: use capture = "workspace-diff", or --respond for capture = "response"')
    with tempfile.TemporaryDirectory() as folder:
        task = Task(options, extra, read_request(), folder)
        ended, report = work(task)
    report.model = report.model or task.model
    report.problem = report.problem or trouble(name, options, task, ended, report)
    if report.problem:
        print(*ended.stdout.splitlines()[-SHOWN_LINES:], f"error: {report.problem}", sep="\n", file=sys.stderr)
    tell(options, name, report)
    return ended.code or (1 if report.problem else 0)


def split(words):
    """The adapter's own words, and those behind `--`."""
    end = words.index("--") if "--" in words else len(words)
    return words[:end], words[end + 1 :]


def serve(name, work, can_respond=True):
    """The whole of an adapter: `work` runs the agent for a `Task`, and gives an `Ended` and a `Report`."""
    own, extra = split(sys.argv[1:])
    parser = argparse.ArgumentParser(epilog="What stands behind `--` is handed to the agent.")
    parser.add_argument("--prompt", required=True, help="file with the prompt; {workspace} and {budget_usd} are filled in")
    parser.add_argument("--model", help="the model, as the agent names it")
    parser.add_argument("--price", action="append", default=[], type=per_million, metavar="MODEL=IN,CACHED,OUT")
    parser.add_argument("--respond", action="store_true", help="print the last message as the answer")
    options = parser.parse_args(own)
    try:
        if options.respond and not can_respond:
            raise Failed(f"{name} prints no last message that can be read: leave --respond away")
        sys.exit(answer(name, work, options, extra))
    except Failed as failed:
        print(f"error: {failed}", file=sys.stderr)
        sys.exit(1)
