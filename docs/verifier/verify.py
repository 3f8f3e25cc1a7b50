#!/usr/bin/env python3
"""Verifies stores and bundles of eval-host, from docs/record-format.md alone.

    python3 verify.py <store folder or bundle.tar>... [--against CHECKPOINT] [--keys FILE] [--json]

It needs Python 3.9 and PyPI's `blake3`, and shares no line with eval-host: it is the second implementation of one document. For
each path it prints the state (OK, INCOMPLETE, UNVERIFIABLE, TAMPERED) and every finding. It reads and never writes, follows no
link, and NEVER REPLAYS: it has no engine, so a record with invented scores and right hashes is OK here. It knows no last-seen
head either, so a tail that was cut off is noticed only with --against.
"""

import argparse
import base64
import hashlib
import json
import math
import os
import re
import stat
import struct
import sys
from fractions import Fraction
from functools import lru_cache

from blake3 import blake3

# Until every part of version 1 is written: takes records without `bench_dirty`, markers without a chain, cassettes that are no
# objects and manifests of another class, bundles without `bundle.json`, and checkpoints without time and markers.
DRAFT_FORMAT = True

OK, INCOMPLETE, UNVERIFIABLE, TAMPERED = STATES = ("OK", "INCOMPLETE", "UNVERIFIABLE", "TAMPERED")
MIB = 1 << 20
MOST = {"runs": 64 * MIB, "objects": 64 * MIB, "started": 64 << 10, "note": MIB, "cassette": 16 * MIB, "root": 4096}
MOST_ENTRIES, MOST_SIGNATURES, MOST_DOLLARS = 1_000_000, 100, 1e6
IGNORED = (".DS_Store", "Thumbs.db")
GENESIS = "0" * 64


class Bad(Exception):
    """Something is wrong, and how bad that is."""

    def __init__(self, state, what):
        super().__init__(what)
        self.state = state


class Missing(Exception):
    """There is no such file."""


def want(holds, what):
    if not holds:
        raise Bad(TAMPERED, what)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def blake(data):
    return blake3(data).hexdigest()


# --- JSON, read strictly -------------------------------------------------------------------------------------------------------

SPACE = re.compile(r"[ \t\n\r]*")
STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*)"')
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
ESCAPE = re.compile(r'\\u([0-9a-fA-F]{4})|\\(.)')
SIMPLE = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
LONE = re.compile("[\ud800-\udfff]")
WORDS = {"true": True, "false": False, "null": None}


class Obj(dict):
    """A JSON object, and its text as it stands in the file."""

    raw = ""


class Parser:
    def __init__(self, text):
        self.text, self.at, self.depth = text, 0, 0

    def skip(self):
        self.at = SPACE.match(self.text, self.at).end()
        return self.text[self.at : self.at + 1]

    def take(self, character):
        want(self.skip() == character, f"it is not JSON at character {self.at}")
        self.at += 1

    def value(self):
        first = self.skip()
        if first in ("{", "["):
            self.depth += 1
            want(self.depth <= 127, "its JSON is nested too deeply")
            value = self.object() if first == "{" else self.array()
            self.depth -= 1
            return value
        if first == '"':
            return self.string()
        for word, value in WORDS.items():
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return value
        return self.number()

    def string(self):
        self.skip()
        match = STRING.match(self.text, self.at)
        want(match, f"it is not JSON at character {self.at}")
        self.at = match.end()
        body = match.group(1)
        if "\\" not in body:
            return body
        body = ESCAPE.sub(lambda m: chr(int(m.group(1), 16)) if m.group(1) else SIMPLE[m.group(2)], body)
        # Two halves that were escaped one after the other are one character; a half alone is none.
        body = body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        want(not LONE.search(body), "a text in it has half a character")
        return body

    def number(self):
        match = NUMBER.match(self.text, self.at)
        want(match, f"it is not JSON at character {self.at}")
        self.at = match.end()
        whole = not match.group(1) and not match.group(2) and match.group() != "-0"
        number = float(match.group())
        want(math.isfinite(number), "a number in it is too large")
        return int(match.group()) if whole else number

    def array(self):
        self.take("[")
        values = []
        if self.skip() == "]":
            self.at += 1
            return values
        while True:
            values.append(self.value())
            if self.skip() != ",":
                self.take("]")
                return values
            self.at += 1

    def object(self):
        self.skip()
        start, value = self.at, Obj()
        self.take("{")
        more = self.skip() != "}"
        while more:
            key = self.string()
            self.take(":")
            want(key not in value, f"the key {key!r} occurs twice")
            value[key] = self.value()
            more = self.skip() == ","
            self.at += more
        self.take("}")
        value.raw = self.text[start : self.at]
        return value


def parse(data, shape, what):
    """One object of a shape."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Bad(TAMPERED, f"it is not {what}: it is not UTF-8") from None
    parser = Parser(text)
    try:
        want(parser.skip() == "{", "it is not an object")
        value = parser.value()
        want(parser.skip() == "", "something is behind its end")
        shape(value)
    except Bad as bad:
        raise Bad(TAMPERED, f"it is not {what}: {bad}") from None
    return value


def check_version(data, known):
    """Refuses what says that it is newer, whatever else stands there."""

    def refuse(name):
        raise ValueError(name)

    try:
        pairs = json.loads(data.decode("utf-8"), object_pairs_hook=tuple, parse_constant=refuse)
        found = {}
        for key, value in pairs:
            if key in ("schema_version", "schema_minor", "harness_version"):
                if key in found or not isinstance(value, str if key == "harness_version" else int):
                    return
                found[key] = value
        version = (found["schema_version"], found.get("schema_minor", 0))
        count(version[0]), count(version[1])
    except (ValueError, KeyError, TypeError, RecursionError, Bad):
        return
    if version > known:
        by = found.get("harness_version", "") or "unknown"
        raise Bad(UNVERIFIABLE, f"it has format version {version[0]}.{version[1]}: use eval-host {by} or a newer one")


# --- Shapes: what a value must look like ---------------------------------------------------------------------------------------


def shape(test, what):
    return lambda value: want(test(value), f"{str(value)[:80]!r} is not {what}")


def pattern(expression, what):
    compiled = re.compile(expression)
    return shape(lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None, what)


def is_time(value):
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.\d{3}Z", value, re.ASCII)
    if match is None or value > "9999-12-30T22:00:00.999Z":
        return False
    year, month, day, hour, minute, second = map(int, match.groups())
    return is_day(year, month, day) and hour < 24 and minute < 60 and second < 60


def is_day(year, month, day):
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def is_date(value):
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value, re.ASCII)
    return match is not None and is_day(*map(int, match.groups()))


def one_of(*names):
    return shape(lambda value: isinstance(value, str) and value in names, "one of " + ", ".join(names))


def option(inner):
    return lambda value: None if value is None else inner(value)


def list_of(inner):
    def check(value):
        want(isinstance(value, list), "a list is something else")
        for element in value:
            inner(element)

    return check


def map_of(key_shape, inner):
    def check(value):
        want(isinstance(value, Obj), "an object is something else")
        for key, element in value.items():
            key_shape(key), inner(element)

    return check


def fields(required, left_out=()):
    left_out = dict(left_out)

    def check(value):
        want(isinstance(value, Obj), "an object is something else")
        for key in value:
            want(key in required or key in left_out, f"the key {key!r} is unknown")
        for key, inner in required.items():
            want(key in value, f"the key {key!r} is missing")
            inner(value[key])
        for key, inner in left_out.items():
            if key in value:
                inner(value[key])

    return check


text = shape(lambda value: isinstance(value, str), "a text")
flag = shape(lambda value: isinstance(value, bool), "true or false")
count = shape(lambda value: type(value) is int and 0 <= value < 1 << 64, "a count")
figure = shape(lambda value: type(value) in (int, float), "a number")
digest = pattern("[0-9a-f]{64}", "a hash")
store_id = pattern("[0-9a-f]{32}", "a store id")
slug = pattern("[a-z0-9][a-z0-9-]{0,63}", "a name")
commit = pattern("[0-9a-f]{40}|[0-9a-f]{64}", "a git commit")
time = shape(lambda value: isinstance(value, str) and is_time(value), "a time in UTC")
date = shape(lambda value: isinstance(value, str) and is_date(value), "a day")
rfc3339 = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})", "a time")

OUTCOMES = ("scored", "sut_fault", "rubric_fault", "harness_fault", "skipped")
KINDS = ("spawn", "exit_status", "signal", "missing_response", "malformed_response", "too_much_output")
KINDS += ("missing_cost", "impossible_cost", "unreadable_workspace")
SCORE = fields({"passed": flag, "score": figure, "breakdown": map_of(text, figure), "failure_modes": list_of(text),
                "cost_usd": figure, "duration_seconds": figure})
CASE = fields({"case_id": slug, "outcome": one_of(*OUTCOMES), "score": SCORE, "fuel_used": option(count),
               "peak_memory_bytes": option(count), "logs_digest": option(digest), "agent_log_digest": option(digest),
               "cost_is_estimate": flag})
REPORT = fields({
    "cases": list_of(CASE),
    "selection": fields({"patterns": list_of(text), "cases_in_bench": count, "selected": count}),
    "attempted": count, "skipped": count, "outcomes": map_of(one_of(*OUTCOMES), count), "passed_count": count,
    "mean_score": figure, "lower_bound_95": figure, "total_cost_usd": figure, "recorded_cost_usd": figure,
    "block_severity_failure_modes": list_of(text), "aborted": flag, "had_load_errors": flag,
    "load_errors": list_of(fields({"folder": text, "field": text, "message": text})), "warnings": list_of(text)})
DIRTY = {"bench_dirty": option(flag)}
RECORD = fields({
    "schema_version": count, "schema_minor": count, "store_id": store_id, "task_class": slug, "seq": count,
    "prev_hash": digest, "run_id": digest, "mode": one_of("live", "cassette"),
    "suts": list_of(fields({"name": text, "version": text, "command_digest": option(digest)})),
    "output_kinds": list_of(one_of("live", "recorded", "solved_example")), "started_at": time, "finished_at": time,
    "started_marker": option(digest), "harness_version": text, "wasmtime_version": text,
    "bench_git_commit": option(commit), **({} if DRAFT_FORMAT else DIRTY), "rubric_digest": digest,
    "registration_digest": digest, "rubric_world": text,
    "limits": fields(dict.fromkeys(("fuel", "wall_clock_seconds", "memory_mib", "scratch_mib", "scratch_entries", "output_kib"), count)),
    "block_modes": list_of(text), "case_digest_set": map_of(slug, digest),
    "cassette_digest_set": map_of(slug, option(digest)), "output_digest_set": map_of(slug, option(digest)),
    "budget_usd_set": map_of(slug, option(figure)), "report": REPORT}, DIRTY if DRAFT_FORMAT else {})
CHAINED = {"seq": count, "prev": option(digest)}
MARKER = fields({"schema_version": count, "store_id": store_id, "task_class": slug, **({} if DRAFT_FORMAT else CHAINED),
                 "started_at": time, "cases": count},
                {"shards": list_of(digest), **({**CHAINED, "number": text} if DRAFT_FORMAT else {})})
FILE = shape(lambda value: isinstance(value, list) and len(value) == 2 and isinstance(value[0], str), "a file of a case")
MANIFEST = fields({"case_id": slug, "task_class": slug, "disposition": one_of("positive", "negative", "ambiguous"),
                   "difficulty": one_of("easy", "medium", "hard"),
                   "source": one_of("curated", "outcome-ledger-derived", "regression-converted"), "added_at": date,
                   "files": list_of(lambda value: (FILE(value), digest(value[1])))})
CASSETTE = fields({"schema_version": count, "sut": fields({"name": text, "version": text}),
                   "kind": one_of("recorded", "solved-example"), "input_digest": digest, "recorded_at": rfc3339,
                   "duration_seconds": figure, "cost_usd": figure},
                  {"output": map_of(text, lambda value: None), "error": map_of(text, text),
                   "provenance": fields({"store_id": store_id, "started_marker": digest, "output_digest": option(digest)})})
TIMEOUT = fields({"mode": one_of("timeout")})
HARNESS_ERROR = fields({"mode": one_of("harness_error"), "kind": one_of(*KINDS), "message": text})

# --- The figures of a report ---------------------------------------------------------------------------------------------------


def from_bits(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def bits(number):
    return struct.pack(">d", float(number))


L1, L2, L3, L4, L5, L6, L7, LN2_HI, LN2_LO = map(from_bits, (
    "3fe5555555555593", "3fd999999997fa04", "3fd2492494229359", "3fcc71c51d8e78af", "3fc7466496cb03de",
    "3fc39a09d078c69f", "3fc2f112df3e5244", "3fe62e42fee00000", "3dea39ef35793c76"))
LEAST_M = float.fromhex("0x1.6a09ep-1")


def log(x):
    """The logarithm of the document, which is not the C library's."""
    if math.isinf(x):
        return x
    m, k = math.frexp(x)
    if m < LEAST_M:
        m, k = m * 2.0, k - 1
    f = m - 1.0
    h = 0.5 * f * f
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    r = z * (L1 + w * (L3 + w * (L5 + w * L7))) + w * (L2 + w * (L4 + w * L6))
    return s * (h + r) + k * LN2_LO - h + f + k * LN2_HI


def term(q, p):
    if q == 0.0:
        return 0.0
    return math.inf if p == 0.0 else q * log(q / p)


@lru_cache(maxsize=None)
def lower_bound_95(mean, attempted):
    def fits(p):
        return float(attempted) * (term(mean, p) + term(1.0 - mean, 1.0 - p)) <= 2.995732273553991

    if fits(0.0):
        return 0.0
    below, fitting = 0.0, mean
    for _ in range(200):
        middle = below + (fitting - below) / 2.0
        if middle in (below, fitting):
            break
        below, fitting = (below, middle) if fits(middle) else (middle, fitting)
    return fitting


def run_id(record):
    hasher = hashlib.sha256()
    parts = [record["task_class"]]
    for case in record["report"]["cases"]:
        parts += [case["case_id"], case["score"].raw]
    for part in parts:
        data = part.encode("utf-8")
        hasher.update(struct.pack("<Q", len(data)) + data)
    return hasher.hexdigest()


def check_figures(record):
    report = record["report"]
    cases, selection = report["cases"], report["selection"]
    attempted = [case["score"] for case in cases if case["outcome"] != "skipped"]
    outcomes = {name: sum(case["outcome"] == name for case in cases) for name in OUTCOMES}
    skipped, selected = outcomes["skipped"], len(cases) + len(report["load_errors"])
    want((record["started_marker"] is not None) == (record["mode"] == "live"), "its started_marker does not fit its mode")
    want(record["run_id"] == run_id(record), "its run_id does not follow")
    want(selection["selected"] == selected <= selection["cases_in_bench"], "its selection does not follow")
    want(report["attempted"] == len(attempted) > 0, "its count of attempted cases does not follow")
    want(report["skipped"] == skipped, "its count of skipped cases does not follow")
    want(report["outcomes"] == outcomes, "its count per outcome does not follow")
    want(report["passed_count"] == sum(score["passed"] for score in attempted), "its passed_count does not follow")
    mean = float(sum(Fraction(score["score"]) for score in attempted) / len(attempted))
    want(bits(report["mean_score"]) == bits(mean), "its mean_score does not follow")
    want(bits(report["lower_bound_95"]) == bits(lower_bound_95(mean, len(attempted))), "its lower_bound_95 does not follow")
    want(report["aborted"] == (skipped > 0), "its aborted does not follow")
    want(report["had_load_errors"] == bool(report["load_errors"]), "its had_load_errors does not follow")
    blocking = set()
    for case in cases:
        names = {mode.split(": ")[0] for mode in case["score"]["failure_modes"]}
        if case["outcome"] == "scored":
            blocking |= names & set(record["block_modes"])
        elif case["outcome"] != "sut_fault":
            blocking |= names
    want(set(report["block_severity_failure_modes"]) == blocking, "its block_severity_failure_modes does not follow")
    total = 0.0
    for case in cases:
        total += case["score"]["cost_usd"]
    live = record["mode"] == "live"
    want(report["total_cost_usd"] >= total if live else report["total_cost_usd"] == 0, "its total_cost_usd does not follow")
    recorded = 0.0 if live else total
    want(bits(report["recorded_cost_usd"]) == bits(recorded), "its recorded_cost_usd does not follow")


# --- How a case can end --------------------------------------------------------------------------------------------------------

# The outcome of each of the host's modes, and whether the case had an output.
MODES = {"timeout": ("sut_fault", False), "harness_error": ("sut_fault", False), "output_malformed": ("sut_fault", True),
         "cassette_missing": ("harness_fault", False), "cassette_stale": ("harness_fault", False),
         "skipped_cost_cap": ("skipped", False)}
MODES.update((f"rubric_{name}", ("rubric_fault", True))
             for name in ("error", "malformed", "trap", "fuel_exhausted", "memory_exhausted", "timeout"))
NAME = re.compile("[a-z][a-z0-9_]{0,63}")
BANNED = ("confidence", "llm", "self_reported", "model_says")


def check_score(score, block_modes):
    modes, keys = score["failure_modes"], score["breakdown"]
    want(0 <= score["score"] <= 1, "has a score outside of [0, 1]")
    want(len(keys) <= 64 and len(modes) <= 64, "has more than 64 names in its score")
    want(all(NAME.fullmatch(key) and not any(word in key for word in BANNED) for key in keys), "has a bad key in its breakdown")
    want(all(NAME.fullmatch(mode) and mode not in MODES for mode in modes), "has a failure mode that no rubric may give")
    want(all(a < b for a, b in zip(modes, modes[1:])), "has failure modes twice or not sorted")
    want(not (score["passed"] and set(modes) & set(block_modes)), "passed with a failure mode of block severity")


def check_case(record, case):
    case_id, score, outcome = case["case_id"], case["score"], case["outcome"]
    output, cassette = record["output_digest_set"][case_id] is not None, record["cassette_digest_set"][case_id] is not None
    budget, traces = record["budget_usd_set"][case_id], (case["fuel_used"], case["peak_memory_bytes"])
    mode = score["failure_modes"][0].split(": ")[0] if score["failure_modes"] else ""
    if outcome == "scored":
        want(output, "has a verdict and no output")
        check_score(score, record["block_modes"])
        want(None not in traces, "has no trace of the rubric that scored it")
    else:
        want(not score["passed"] and score["score"] == 0 and not score["breakdown"], "ended in a fault and has a score")
        want(len(score["failure_modes"]) == 1 and mode in MODES, "did not end in exactly one fault of the host's")
        want(MODES[mode] == (outcome, output), "has a failure mode that its outcome or output excludes")
    want(output or traces == (None, None) and case["logs_digest"] is None, "has traces of a rubric and no output")
    want(score["cost_usd"] >= 0 and score["duration_seconds"] >= 0, "cost less than nothing")
    if record["mode"] == "cassette":
        want(budget is None and not case["cost_is_estimate"], "was replayed, and had an agent")
        want(cassette or not output, "has an output and no cassette")
        want(DRAFT_FORMAT or cassette == (mode != "cassette_missing"), "has a cassette and none")
        want(mode != "skipped_cost_cap", "was replayed, and left out for its cost")
    else:
        want(not cassette and mode not in ("cassette_missing", "cassette_stale"), "was answered live, and from a cassette")
        want(budget is None or 0 <= budget <= MOST_DOLLARS, "had an impossible budget")
        want(budget is not None or not output, "has an output and no budget")


def check_record(record):
    """What must hold for the bytes to be a record at all."""
    want((record["schema_version"], record["schema_minor"]) == (1, 0), "there is no such version")
    want(all(NAME.fullmatch(mode) and mode not in MODES for mode in record["block_modes"]), "its block_modes are no rubric's")
    want(record["seq"] > 0 and (record["seq"] == 1) == (record["prev_hash"] == GENESIS), "its seq or prev_hash cannot be")
    ids = [case["case_id"] for case in record["report"]["cases"]]
    want(all(a < b for a, b in zip(ids, ids[1:])), "its cases are not sorted")
    for name in ("case_digest_set", "cassette_digest_set", "output_digest_set", "budget_usd_set"):
        want(set(record[name]) == set(ids), f"its {name} is about other cases")
    want("bench_dirty" not in record or (record["bench_dirty"] is None) == (record["bench_git_commit"] is None),
         "its bench_dirty does not fit its commit")


def check_contents(record):
    for case in record["report"]["cases"]:
        try:
            check_case(record, case)
        except Bad as bad:
            raise Bad(bad.state, f"case {case['case_id']} {bad}") from None
    if not DRAFT_FORMAT and record["mode"] == "live":
        want(record["output_kinds"] == ["live"], "its output_kinds are not those of a live run")
        want(len(record["suts"]) == 1 and record["suts"][0]["command_digest"], "its suts are not those of a live run")
    check_figures(record)


# --- Objects: manifests and cassettes ------------------------------------------------------------------------------------------


def harmless(words):
    """The host's way to put somebody else's words behind a failure mode."""
    hidden = re.compile("[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
    short = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
    cut = hidden.sub(lambda m: short.get(m.group(), f"\\u{{{ord(m.group()):x}}}"), words[:240])
    return cut + (f"… ({len(words) - 240} more characters)" if len(words) > 240 else "")


def read_cassette(data):
    want(len(data) <= MOST["cassette"], "it is too large for a cassette")
    cassette = parse(data, CASSETTE, "a cassette")
    want(cassette["schema_version"] == 1, "it is a cassette of another version")
    want(math.copysign(1, cassette["duration_seconds"]) > 0 and math.copysign(1, cassette["cost_usd"]) > 0
         and cassette["cost_usd"] <= MOST_DOLLARS, "it is a cassette that cost what nothing costs")
    want(("output" in cassette) != ("error" in cassette), "it is a cassette without exactly one of output and error")
    want("provenance" not in cassette or cassette["kind"] == "recorded", "it is a solved example with a provenance")
    error = cassette.get("error")
    if error is not None:
        (TIMEOUT if error.get("mode") == "timeout" else HARNESS_ERROR)(error)
    return cassette


def check_cassette(record, case, cassette):
    score, output = case["score"], record["output_digest_set"][case["case_id"]]
    want((score["cost_usd"], score["duration_seconds"]) == (cassette["cost_usd"], cassette["duration_seconds"]),
         "the case has another meter than its cassette")
    if score["failure_modes"] == ["cassette_stale"]:
        return
    if "output" in cassette:
        want(output == blake(cassette["output"].raw.encode("utf-8")), "the case has another output than its cassette")
        return
    error = cassette["error"]
    mode = "timeout" if error["mode"] == "timeout" else f"harness_error: {error['kind']}: {harmless(error['message'])}"
    want(output is None and score["failure_modes"] == [mode], "the case ended otherwise than its cassette")


# --- Signed notes (c2sp.org/signed-note) and Ed25519 (RFC 8032) ----------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)


def add(a, b):
    """Adds points in extended coordinates (X, Y, Z, XY/Z)."""
    m, n = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = n - m, d - c, d + c, n + m
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def same(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 == (a[1] * b[2] - b[1] * a[2]) % P


def decompress(data):
    """The point of 32 bytes, or None: only in its one encoding, and never one of small order."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    point = (x, y, 1, x * y % P)
    return None if same(times(8, point), (0, 1, 1, 0)) else point


BASE = decompress((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def signed(key, message, signature):
    a, r, s = decompress(key), decompress(signature[:32]), int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or a is None or r is None or s >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    return same(times(s, BASE), add(r, times(k, a)))


def read_key(line):
    name, key_id, encoded = (line.split("+", 2) + ["", ""])[:3]
    data = decode64(encoded)
    want(name and not re.search(r"\s", name) and data is not None and len(data) == 33 and data[0] == 1, f"{line!r} is no key")
    right = sha256(name.encode("utf-8") + b"\n" + data)[:8]
    want(key_id == right and decompress(data[1:]) is not None, f"{line!r} is no key that can be used")
    return name, bytes.fromhex(key_id), data[1:]


def decode64(encoded):
    try:
        data = base64.b64decode(encoded.encode("ascii"), validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == encoded else None


def open_note(data, keys):
    """The text of a note, and which of the keys signed it. A wrong signature of one of them spoils it."""
    try:
        note = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Bad(TAMPERED, "it is not a signed note") from None
    end = note.rfind("\n\n")
    want(not re.search("[\x00-\x09\x0b-\x1f\x7f]", note) and note.endswith("\n") and end >= 0, "it is not a signed note")
    message, lines = note[: end + 1], note[end + 2 :].split("\n")[:-1]
    want(len(lines) <= MOST_SIGNATURES, "it has too many signatures")
    signers = []
    for line in lines:
        match = re.fullmatch(r"— ([^\s+]+) ([A-Za-z0-9+/=]+)", line)
        signature = decode64(match.group(2)) if match else None
        want(signature is not None and len(signature) > 4, "a line in it is no signature")
        for key in keys:
            if (key[0], key[1]) == (match.group(1), signature[:4]):
                want(signed(key[2], message.encode("utf-8"), signature[4:]), f"the signature of {key[0]} is wrong")
                signers.append(key)
    return message, signers


class Checkpoint:
    LINE = re.compile("([a-z0-9][a-z0-9-]{0,63}) (0|[1-9][0-9]*) ([0-9a-f]{64}) (0|[1-9][0-9]*) ([0-9a-f]{64})")
    DRAFT_LINE = re.compile("([a-z0-9][a-z0-9-]{0,63}) ([1-9][0-9]*) ([0-9a-f]{64})")

    def __init__(self, message):
        lines = message.split("\n")[:-1]
        want(lines[:1] == ["eval-host/checkpoint/v1"] and len(lines) > 1, "it is not a checkpoint")
        store_id(lines[1])
        self.store_id, self.classes, rest = lines[1], {}, lines[2:]
        if not DRAFT_FORMAT or (rest and is_time(rest[0])):
            want(rest and is_time(rest[0]), "it is not a checkpoint: it has no time")
            rest = rest[1:]
        for line in rest:
            match = self.LINE.fullmatch(line) or (DRAFT_FORMAT and self.DRAFT_LINE.fullmatch(line))
            want(match, "it is not a checkpoint: a line in it is none")
            name, records, head, markers, last = (match.groups() + ("0", GENESIS))[:5]
            records, markers = int(records), int(markers)
            want((records == 0) == (head == GENESIS) and (markers == 0) == (last == GENESIS), "zeros stand in a wrong place")
            want(records + markers > 0 and name > max(self.classes, default=""), "its lines are not sorted")
            self.classes[name] = (records, head, markers, last)

    def covers(self, name, records, markers):
        own = self.classes.get(name, (0, GENESIS, 0, GENESIS))
        return records <= own[0] and markers <= own[2]


class Keys:
    """Who is trusted: (name, id, key) and the checkpoint that a retired one is limited to, or None."""

    def __init__(self, path):
        folder, self.scopes = os.path.dirname(os.path.abspath(path)), {}
        with open(path, encoding="utf-8") as file:
            for line in file.read().split("\n"):
                words = line.split(" ")
                if line and not line.startswith("#"):
                    want(len(words) == 1 or len(words) == 3 and words[1] == "retired", f"{line!r} trusts nobody")
                    key = read_key(words[0])
                    self.scopes[key] = self.last_checkpoint(key, folder, words[2]) if len(words) == 3 else None
        rotations = sorted(name for name in os.listdir(folder) if re.fullmatch("rotation-[0-9a-f]{8}.txt", name))
        for _ in rotations:
            for name in rotations:
                with open(os.path.join(folder, name), "rb") as file:
                    message, signers = open_note(file.read(MOST["note"]), self.scopes)
                lines = message.split("\n")
                want(len(lines) == 3 and lines[0] == "eval-host/key/v1", f"{name} is no rotation note")
                if signers:
                    self.scopes.setdefault(read_key(lines[1]), None)

    @staticmethod
    def last_checkpoint(key, folder, name):
        want("/" not in name, f"{name!r} is not the name of a checkpoint")
        with open(os.path.join(folder, name), "rb") as file:
            message, signers = open_note(file.read(MOST["note"]), [key])
        want(signers, f"{name} is not signed by the key that is retired with it")
        return Checkpoint(message)

    def checkpoint(self, data):
        message, signers = open_note(data, self.scopes)
        found = Checkpoint(message)

        def may(scope):
            return scope is None or scope.store_id == found.store_id and all(
                scope.covers(name, line[0], line[2]) for name, line in found.classes.items())

        want(any(may(self.scopes[key]) for key in signers), "no key that is trusted for it signed the checkpoint")
        return found

    def signed_record(self, data, record):
        """Whether a trusted key signed a record's note."""
        _, signers = open_note(data, self.scopes)
        scopes = [self.scopes[key] for key in signers]
        place = (record["task_class"], record["seq"], 0)
        return any(scope is None or scope.store_id == record["store_id"] and scope.covers(*place) for scope in scopes)


# --- Where evidence is: a folder or a bundle -----------------------------------------------------------------------------------


class Folder:
    is_archive = False

    def __init__(self, root):
        self.root = root.rstrip("/") or "/"
        try:
            mode = os.lstat(self.root).st_mode
        except FileNotFoundError:
            raise Bad(UNVERIFIABLE, "there is no store") from None
        want(stat.S_ISDIR(mode), "a store must be a directory")

    def names(self, area):
        path = os.path.join(self.root, area)
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                raise Bad(UNVERIFIABLE, f"{area}/ is no directory")
            return sorted(os.listdir(path))
        except FileNotFoundError:
            if area == "started":
                return []
            raise Bad(UNVERIFIABLE, f"there is no {area}/") from None

    def read(self, area, name, most):
        path = os.path.join(self.root, area, name)
        try:
            want(stat.S_ISREG(os.lstat(path).st_mode), "it is not a file")
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                data = file.read(most + 1)
        except FileNotFoundError:
            raise Missing from None
        except OSError as error:
            raise Bad(UNVERIFIABLE, f"it cannot be read: {error.strerror}") from None
        want(len(data) <= most, "it is too large")
        return data


class Archive:
    """A bundle. Reading makes every header anew, so there is one archive for one content."""

    is_archive = True

    def __init__(self, path):
        self.file, self.entries = open(path, "rb"), {}
        size, position, order = os.fstat(self.file.fileno()).st_size, 0, []
        while True:
            want(position + 512 <= size, "the bundle is cut")
            block = self.at(position, 512)
            if block == bytes(512):
                break
            name = block[:100].split(b"\0")[0]
            want(re.fullmatch(rb"[0-7]{11}", block[124:135]), "a header in the bundle has no size")
            length = int(block[124:135], 8)
            want(block == self.header(name, length), "a header in the bundle is none")
            end = position + 512 + (length + 511) // 512 * 512
            want(end <= size and len(order) < MOST_ENTRIES, "the bundle is cut")
            want(not any(self.at(position + 512 + length, end - position - 512 - length)), "something is between files")
            order.append(name.decode("utf-8", "replace"))
            self.entries[order[-1]], position = (position + 512, length), end
        want(size == position + 1024 and not any(self.at(position, 1024)), "something is behind the bundle's end")
        first = ["store.json"] if DRAFT_FORMAT and "bundle.json" not in self.entries else ["store.json", "bundle.json"]
        runs = [name for name in order if re.fullmatch(RECORD_NAME.pattern.replace("json", "(json|note)"), name[5:]) and name[:5] == "runs/"]
        objects = [name for name in order if re.fullmatch("objects/[0-9a-f]{64}", name)]
        want(order == first + sorted(set(runs)) + sorted(set(objects)), "the bundle has other entries, or in another order")

    @staticmethod
    def header(name, size):
        parts = [name.ljust(100, b"\0"), b"0000600\0", b"0000000\0" * 2, b"%011o\0" % size, b"0" * 11 + b"\0", b" " * 8, b"0"]
        header = (b"".join(parts).ljust(257, b"\0") + b"ustar\x0000").ljust(512, b"\0")
        return header[:148] + b"%06o\0 " % sum(header) + header[156:]

    def at(self, start, length):
        self.file.seek(start)
        return self.file.read(length)

    def names(self, area):
        return [name[len(area) + 1 :] for name in self.entries if name.startswith(area + "/")]

    def read(self, area, name, most):
        start, length = self.entries.get(f"{area}/{name}".lstrip("/"), (0, -1))
        if length < 0:
            raise Missing
        want(length <= most, "it is too large")
        return self.at(start, length)


# --- A whole body of evidence --------------------------------------------------------------------------------------------------

RECORD_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[0-9a-f]{8}\.json")


def file_name(moment, hash_):
    return f"{moment.replace('-', '').replace(':', '')}-{hash_[:8]}.json"


class Verification:
    def __init__(self, path, keys=None, checkpoint=None):
        self.keys, self.findings, self.notes, self.checked = keys, [], [], {}
        self.links, self.damaged, self.markers, self.bundle = {}, set(), {}, None
        try:
            self.source = Archive(path) if os.path.isfile(path) and not os.path.islink(path) else Folder(path)
            self.id = self.identity()
            self.bundle = self.left_out()
            areas = {area: self.source.names(area) for area in ("runs", "objects", "started")}
        except Bad as bad:
            self.report(bad, "the store")
            return
        self.read_records(areas["runs"])
        self.walk([(record, hash_) for links in self.links.values() for record, hash_ in links])
        for links in self.links.values():
            for record, hash_ in links:
                self.check(record, hash_)
        self.read_notes(areas["runs"])
        if not self.source.is_archive:
            self.read_markers(areas["started"])
        else:
            self.check_archive(areas["objects"])
        self.check_bundle()
        if checkpoint is not None:
            self.compare(checkpoint)

    def state(self):
        return max((finding[0] for finding in self.findings), key=STATES.index, default=OK)

    def report(self, bad, where):
        self.findings.append((bad.state, where, str(bad)))

    def attempt(self, where, step, *arguments):
        """Runs a step, and turns what it finds into a finding."""
        try:
            return step(*arguments)
        except Bad as bad:
            self.report(bad, where)
        except Missing:
            self.report(Bad(TAMPERED, "it was there and is gone"), where)
        return None

    def identity(self):
        try:
            data = self.source.read("", "store.json", MOST["root"])
        except Missing:
            raise Bad(TAMPERED, "there is no store.json that says which store this is") from None
        check_version(data, (1, 1 << 64))
        found = parse(data, fields({"schema_version": count, "store_id": store_id}), "a store's identity")["store_id"]
        want(data == b'{"schema_version":1,"store_id":"%s"}\n' % found.encode(), "store.json was edited")
        return found

    def left_out(self):
        try:
            data = self.source.read("", "bundle.json", MOST["root"])
        except Missing:
            return None
        check_version(data, (1, 1 << 64))
        shape_ = fields({"schema_version": count, "task_class": slug, "seq": count, "record": digest, "left_out": list_of(text)})
        found = parse(data, shape_, "a bundle's description")
        spelled = '{"schema_version":1,"task_class":"%s","seq":%d,"record":"%s","left_out":["markers",' \
                  '"objects_of_earlier_records","other_task_classes"]}\n' % (found["task_class"], found["seq"], found["record"])
        want(data == spelled.encode(), "bundle.json was edited")
        return found

    def is_earlier(self, record):
        """Whether the objects of a record may have been left out of a bundle."""
        if self.bundle is None and self.source.is_archive:
            return record["seq"] < max(seq for name, seq in self.links if name == record["task_class"])
        return self.bundle is not None and record["task_class"] == self.bundle["task_class"] and record["seq"] < self.bundle["seq"]

    # Records and their chains.

    def read_records(self, names):
        for name in names:
            if RECORD_NAME.fullmatch(name):
                self.attempt(f"runs/{name}", self.read_record, name)
            elif name.startswith(".tmp-") and not LONE.search(name):
                self.report(Bad(INCOMPLETE, "a crash left it unfinished"), f"runs/{name}")
            elif not RECORD_NAME.fullmatch(re.sub(r"\.note$", ".json", name)) and name not in IGNORED:
                self.report(Bad(TAMPERED, "it is neither a record nor a record's note"), f"runs/{name!r}")

    def read_record(self, name):
        data = self.source.read("runs", name, MOST["runs"])
        check_version(data, (1, 0))
        record, hash_ = parse(data, RECORD, "a record of version 1"), sha256(data)
        check_record(record)
        expected = file_name(record["finished_at"], hash_)
        if expected != name:
            self.damaged.add((record["task_class"], record["seq"]))
            raise Bad(TAMPERED, f"it was edited or renamed: a record with this content is called {expected}")
        self.links.setdefault((record["task_class"], record["seq"]), []).append((record, hash_))

    def walk(self, links):
        classes = {}
        for record, hash_ in links:
            where = f"record {record['seq']} of {record['task_class']}"
            if record["store_id"] != self.id:
                self.report(Bad(TAMPERED, f"it belongs to the store {record['store_id']}"), where)
            else:
                classes.setdefault(record["task_class"], {}).setdefault(record["seq"], []).append((record["prev_hash"], hash_))
        for name, places in classes.items():
            damaged = {seq for class_, seq in self.damaged if class_ == name}
            self.walk_chain(f"record {{}} of {name}", places, damaged, GENESIS)

    def walk_chain(self, where, places, damaged, genesis):
        """Numbers without a gap or a fork, each naming the hash of the one before. Both records and markers are such chains."""
        seq, parents = 0, {genesis}
        for place in sorted(places):
            if place != seq + 1:
                parents = None
                # A damaged file is reported where it is, and its place is not empty.
                if len([lost for lost in damaged if seq < lost < place]) < place - seq - 1:
                    self.report(Bad(TAMPERED, f"there is none, and the next one has the number {place}"), where.format(seq + 1))
            if len(places[place]) > 1:
                self.report(Bad(TAMPERED, "the chain forks here"), where.format(place))
            if parents is not None and any(parent not in parents for parent, _ in places[place]):
                self.report(Bad(TAMPERED, "it does not name the one before it"), where.format(place))
            seq, parents = place, {hash_ for _, hash_ in places[place]}

    # What a record says and names.

    def check(self, record, hash_):
        where = f"record {record['seq']} of {record['task_class']}"
        self.attempt(where, check_contents, record)
        for name in ("rubric_digest", "registration_digest"):
            self.attempt(where, self.object, record, record[name])
        for name, manifest in record["case_digest_set"].items():
            self.attempt(where, self.check_manifest, record, name, manifest)
        cassettes = []
        for case in record["report"]["cases"]:
            for object_ in (record["output_digest_set"][case["case_id"]], case["logs_digest"], case["agent_log_digest"]):
                self.attempt(where, self.object, record, object_)
            cassettes.append(self.attempt(where, self.check_cassette, record, case))
        if not DRAFT_FORMAT and record["mode"] == "cassette" and not self.is_earlier(record):
            self.attempt(where, self.check_answers, record, [cassette for cassette in cassettes if cassette])

    def object(self, record, name):
        """The content of an object, or None where it may be missing. It is read and hashed once, unless it is needed again."""
        if name is None:
            return None
        try:
            data = self.source.read("objects", name, MOST["objects"])
        except Missing:
            if self.is_earlier(record):
                return None
            raise Bad(UNVERIFIABLE, f"the object {name} is missing") from None
        if name not in self.checked:
            self.checked[name] = blake(data) == name
        want(self.checked[name], f"the object {name} was changed")
        return data

    def check_manifest(self, record, case_id, name):
        data = self.object(record, name)
        if data is None:
            return
        manifest = parse(data, MANIFEST, "a case's manifest")
        want(DRAFT_FORMAT or manifest["task_class"] == record["task_class"], f"case {case_id} has a manifest of another class")
        want(manifest["case_id"] == case_id, f"case {case_id} has the manifest of another case")
        for _, file in manifest["files"]:
            self.object(record, file)

    def check_cassette(self, record, case):
        name = record["cassette_digest_set"][case["case_id"]]
        if name is None or (DRAFT_FORMAT and name not in self.source.names("objects")):
            return None
        data = self.object(record, name)
        if data is None:
            return None
        cassette = read_cassette(data)
        check_cassette(record, case, cassette)
        return cassette

    @staticmethod
    def check_answers(record, cassettes):
        suts = {(cassette["sut"]["name"], cassette["sut"]["version"], None) for cassette in cassettes}
        kinds = {cassette["kind"].replace("-", "_") for cassette in cassettes}
        want({tuple(sut[key] for key in ("name", "version", "command_digest")) for sut in record["suts"]} == suts,
             "its suts are not those of its cassettes")
        want(set(record["output_kinds"]) == kinds, "its output_kinds are not those of its cassettes")

    # Signatures of records.

    def read_notes(self, names):
        records = {file_name(record["finished_at"], hash_): (record, hash_) for links in self.links.values() for record, hash_ in links}
        signed_ = 0
        for name in names:
            if not RECORD_NAME.fullmatch(re.sub(r"\.note$", ".json", name)) or name.endswith(".json"):
                continue
            stem = name[:-5] + ".json"
            if stem not in names and not {f".tmp-{stem}", f".tmp-again-{stem}"} & set(names):
                self.report(Bad(TAMPERED, "it is the signature of a record that is not there"), f"runs/{name}")
            elif stem in records:
                signed_ += bool(self.attempt(f"runs/{name}", self.read_note, name, *records[stem]))
        if self.keys is None:
            self.notes.append("no keys were given, so no signature was checked")
        else:
            self.notes.append(f"{signed_} of {len(records)} records are signed by a trusted key")

    def read_note(self, name, record, hash_):
        data = self.source.read("runs", name, MOST["note"])
        message, _ = open_note(data, ())
        said = f"eval-host/record/v1\n{self.id}\n{record['task_class']} {record['seq']} {hash_}\n"
        want(message == said, "it says something else than its record")
        return self.keys is not None and self.keys.signed_record(data, record)

    # Markers of live runs.

    def read_markers(self, names):
        newer, places = set(), {}
        for name in names:
            if not name.startswith(".tmp-") and name not in IGNORED:
                self.attempt(f"started/{name!r}", self.read_marker, name, newer, places)
        for class_, chain in places.items():
            # A marker of a newer version stands somewhere in a chain, and nobody here can tell where.
            seqs = range(1, max(chain) + 1) if newer else ()
            if chain.keys() != {0}:
                self.walk_chain(f"marker {{}} of {class_}", chain, set(seqs), None)
        named = {}
        for links in self.links.values():
            for record, _ in links:
                if record["started_marker"] is not None:
                    self.attempt(f"record {record['seq']} of {record['task_class']}", self.name_marker, record, named, newer)
        unfinished = len([marker for marker in self.markers if marker not in named])
        self.notes.append("how many live runs were not finished is unknown" if self.bundle else f"{unfinished} unfinished live runs")

    def read_marker(self, name, newer, places):
        data = self.source.read("started", name, MOST["started"])
        own = blake(data)
        try:
            check_version(data, (1, 1 << 64))
        except Bad:
            newer.add(own)
            raise
        marker = parse(data, MARKER, "a marker")
        want(marker["store_id"] == self.id, "it belongs to another store")
        want(file_name(marker["started_at"], own) == name, "it was edited or renamed")
        want(DRAFT_FORMAT or marker["schema_version"] == 1 and marker["seq"] > 0 and marker.get("shards") != [], "it cannot be")
        places.setdefault(marker["task_class"], {}).setdefault(marker.get("seq", 0), []).append((marker.get("prev"), own))
        self.markers[own] = marker

    def name_marker(self, record, named, newer):
        first = record["started_marker"]
        for own in [first, *self.markers.get(first, {}).get("shards", ())]:
            unknown = self.bundle is not None and self.bundle["task_class"] == record["task_class"] and record["seq"] <= self.bundle["seq"]
            want(own in self.markers or own in newer or unknown, f"the marker {own}, which announced it, is gone")
            want(DRAFT_FORMAT or own not in named, f"the marker {own} announced another record too")
            named[own] = record

    # Bundles and checkpoints.

    def check_bundle(self):
        if self.bundle is not None:
            place = self.links.get((self.bundle["task_class"], self.bundle["seq"]), [])
            if [hash_ for _, hash_ in place] != [self.bundle["record"]]:
                self.report(Bad(TAMPERED, "it is not the record that bundle.json names"), f"record {self.bundle['seq']}")

    def check_archive(self, objects):
        self.notes.append("how many live runs were not finished is unknown")
        if self.bundle is not None:
            for name, seq in self.links:
                if name != self.bundle["task_class"] or seq > self.bundle["seq"]:
                    self.report(Bad(TAMPERED, "it does not belong in this bundle"), f"record {seq} of {name}")
        for name in objects:
            if name not in self.checked and not DRAFT_FORMAT:
                self.report(Bad(TAMPERED, "no record of the bundle names it"), f"objects/{name}")

    def compare(self, checkpoint):
        part = self.bundle is not None or self.source.is_archive
        if checkpoint.store_id != self.id:
            self.report(Bad(TAMPERED, f"the checkpoint is of the store {checkpoint.store_id}"), "the store")
            return
        own = {name for name, _ in self.links}
        for name in sorted(own - set(checkpoint.classes)) if part else ():
            self.report(Bad(UNVERIFIABLE, "the checkpoint says nothing about it"), f"task class {name}")
        markers = {(marker["task_class"], marker.get("seq")): own for own, marker in self.markers.items()}
        for name, (records, head, announced, last) in checkpoint.classes.items():
            found = [hash_ for _, hash_ in self.links.get((name, records), ())]
            if part and name not in own:
                continue
            if records and head not in found:
                newest = max((seq for class_, seq in self.links if class_ == name), default=0)
                state = UNVERIFIABLE if part and newest < records else TAMPERED
                self.report(Bad(state, f"the checkpoint has its record {records} with the hash {head}"), f"task class {name}")
            if announced and not part and markers.get((name, announced)) != last:
                self.report(Bad(TAMPERED, f"the checkpoint has its marker {announced} as {last}"), f"task class {name}")


def main():
    parser = argparse.ArgumentParser(description="Verifies stores and bundles of eval-host. It never replays.")
    parser.add_argument("paths", nargs="+", metavar="store or bundle")
    parser.add_argument("--against", metavar="CHECKPOINT", help="a signed checkpoint that the evidence must agree with")
    parser.add_argument("--keys", metavar="FILE", help="the trusted keys, a line each")
    parser.add_argument("--json", action="store_true", help="one line of JSON per path")
    arguments = parser.parse_args()
    try:
        keys, checkpoint = Keys(arguments.keys) if arguments.keys else None, None
        if arguments.against:
            want(keys is not None, "--against needs --keys: a checkpoint that nobody signed says nothing")
            with open(arguments.against, "rb") as file:
                checkpoint = keys.checkpoint(file.read(MOST["note"]))
    except (Bad, OSError) as error:
        parser.exit(2, f"{error}\n")
    worst = OK
    for path in arguments.paths:
        verification = Verification(path, keys, checkpoint)
        state = verification.state()
        worst = max(worst, state, key=STATES.index)
        if arguments.json:
            findings = [{"state": state, "where": where, "what": what} for state, where, what in verification.findings]
            print(json.dumps({"path": path, "state": state, "findings": findings, "notes": verification.notes, "replayed": False}))
            continue
        for finding in verification.findings:
            print("{}: {}: {}".format(*finding))
        for note in verification.notes:
            print(f"note: {note}")
        print(f"{path}: {state} (not replayed: whether the rubric gives these scores, `eval-host verify --replay` says)")
    return 0 if worst == OK else 1


if __name__ == "__main__":
    sys.exit(main())
