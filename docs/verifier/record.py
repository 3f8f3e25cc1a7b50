"""What one record says, and whether it can be: its fields, figures and cases, and the manifests and cassettes that it names.

The chapters "A record", "The figures", "How a case can end" and "Objects" of docs/record-format.md. Nothing here opens a file.
"""

import hashlib
import math
import re
import struct
from fractions import Fraction
from functools import lru_cache

from blake3 import blake3

from strict import (Bad, check_version, commit, count, date, digest, fields, figure, flag, list_of, map_of, one_of,
                    option, parse, rfc3339, shape, slug, store_id, text, time, want)

MOST_CASSETTE_BYTES, MOST_DOLLARS = 16 << 20, 1e6
GENESIS = "0" * 64


def blake(data):
    return blake3(data).hexdigest()


OUTCOMES = ("scored", "sut_fault", "rubric_fault", "harness_fault", "skipped")
KINDS = ("spawn", "exit_status", "signal", "missing_response", "malformed_response", "too_much_output")
KINDS += ("missing_cost", "impossible_cost", "unreadable_workspace", "resources")
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
SUT = fields({"name": text, "version": text, "model": option(text), "command_digest": option(digest), "files": map_of(text, digest)})
NAMESPACES = ("ipc", "mount", "net", "pid", "user")
PORT = shape(lambda value: type(value) is int and 0 < value < 1 << 16, "a TCP port")


def network(value):
    if isinstance(value, list):
        want(value, "a network has an empty list of ports")
        list_of(PORT)(value)
    else:
        one_of("open", "none")(value)


CAGE = fields({"landlock_abi": shape(lambda value: type(value) is int and 0 <= value < 1 << 32, "a version of Landlock"),
               "namespaces": list_of(one_of(*NAMESPACES)), "network": network, "read": list_of(text), "write": list_of(text),
               "memory_mib": count, "processes": count, "workspace_mib": count})


def confinement(value):
    if value != "none":
        fields({"caged": CAGE})(value)


RECORD = fields({
    "schema_version": count, "schema_minor": count, "store_id": store_id, "task_class": slug, "seq": count,
    "prev_hash": digest, "run_id": digest, "mode": one_of("live", "cassette"),
    "suts": list_of(SUT),
    "output_kinds": list_of(one_of("live", "recorded", "solved_example")), "started_at": time, "finished_at": time,
    "started_marker": option(digest), "shards_elsewhere": count,
    "continues": option(digest), "confinement": option(confinement), "max_cost_usd": option(figure), "harness_version": text, "wasmtime_version": text,
    "price_list_version": count,
    "bench_git_commit": option(commit), "bench_dirty": option(flag), "rubric_digest": digest,
    "registration_digest": digest, "rubric_world": text,
    "limits": fields(dict.fromkeys(("fuel", "wall_clock_seconds", "memory_mib", "scratch_mib", "scratch_entries", "output_kib"), count)),
    "block_modes": list_of(text), "case_digest_set": map_of(slug, digest),
    "cassette_digest_set": map_of(slug, option(digest)), "output_digest_set": map_of(slug, option(digest)),
    "budget_usd_set": map_of(slug, option(figure)), "report": REPORT})
FILE = shape(lambda value: isinstance(value, list) and len(value) == 2 and isinstance(value[0], str), "a file of a case")
MANIFEST = fields({"case_id": slug, "task_class": slug, "disposition": one_of("positive", "negative", "ambiguous"),
                   "difficulty": one_of("easy", "medium", "hard"),
                   "source": one_of("curated", "outcome-ledger-derived", "regression-converted"), "added_at": date,
                   "files": list_of(lambda value: (FILE(value), digest(value[1])))})
CASSETTE = fields({"schema_version": count, "sut": fields({"name": text, "version": text}, {"model": text}),
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
    want(record["mode"] == "live" or record["shards_elsewhere"] == 0, "it is of cassettes, and has shards of a live run")
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
        want(cassette == (mode != "cassette_missing"), "has no cassette, and did not end for want of one")
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
    want((record["bench_dirty"] is None) == (record["bench_git_commit"] is None),
         "its bench_dirty does not fit its commit")


def check_cage(confinement_):
    if confinement_ == "none":
        return
    cage = confinement_["caged"]
    namespaces, network_ = set(cage["namespaces"]), cage["network"]
    want(cage["landlock_abi"] >= 1, "its cage is without Landlock")
    want(not namespaces or namespaces >= set(NAMESPACES) - {"net"}, "its cage has some of the namespaces and not all")
    want(("net" in namespaces) == (network_ == "none"), "the network of its cage is not that of its namespaces")
    want(not isinstance(network_, list) or cage["landlock_abi"] >= 4, "its cage has ports that its Landlock does not know")


def equal(one, other):
    """Whether two confinements are one: their lists are sets."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return one == other
    one, other = ({key: set(value) if isinstance(value, list) else value for key, value in each["caged"].items()} for each in (one, other))
    return one == other


def sut_key(sut):
    return (sut["name"], sut["version"], sut["model"], sut["command_digest"], tuple(sorted(sut["files"].items())))


def check_continued(record, earlier):
    """What a record must have taken from the one that it continues."""
    want(earlier["mode"] == "live" and earlier["report"]["aborted"], "it continues what is no capped live run")
    for name in ("case_digest_set", "rubric_digest", "registration_digest"):
        want(record[name] == earlier[name], f"it continues a run with another {name}")
    want(equal(record["confinement"], earlier["confinement"]), "it continues a run whose agents were confined otherwise")
    want({sut_key(sut) for sut in earlier["suts"]} <= {sut_key(sut) for sut in record["suts"]},
         "it continues a run, and does not name all who answered there")
    now = {case["case_id"]: case for case in record["report"]["cases"]}
    for case in earlier["report"]["cases"]:
        id_ = case["case_id"]
        if case["outcome"] == "skipped":
            continue
        same = "than in the run that it continues"
        want(record["output_digest_set"][id_] == earlier["output_digest_set"][id_], f"case {id_} has another output {same}")
        budgets = [of["budget_usd_set"][id_] for of in (record, earlier)]
        want(len({None if budget is None else bits(budget) for budget in budgets}) == 1, f"case {id_} has another budget {same}")
        want(now[id_]["outcome"] == case["outcome"], f"case {id_} has another outcome {same}")
        for meter in ("cost_usd", "duration_seconds"):
            want(bits(now[id_]["score"][meter]) == bits(case["score"][meter]), f"case {id_} has another {meter} {same}")


def check_contents(record):
    for case in record["report"]["cases"]:
        try:
            check_case(record, case)
        except Bad as bad:
            raise Bad(bad.state, f"case {case['case_id']} {bad}") from None
    if record["mode"] == "live":
        want(set(record["output_kinds"]) == {"live"}, "its output_kinds are not those of a live run")
        started = {(sut["command_digest"], tuple(sorted(sut["files"].items()))) for sut in record["suts"]}
        want(len(started) == 1 or (started and record["continues"]), "it has agents of several commands, or none")
        want(all(sut["command_digest"] for sut in record["suts"]), "its suts are not those of a live run")
        want(record["confinement"] is not None, "it does not say how its agents were confined")
        cap = record["max_cost_usd"]
        want(cap is not None and 0 <= cap <= MOST_DOLLARS, "its agents had no cap that can be")
        check_cage(record["confinement"])
    else:
        some = any(record["cassette_digest_set"].values())
        want(some == bool(record["suts"]) == bool(record["output_kinds"]), "it has answers of nobody, or nobody's answers")
        want("live" not in record["output_kinds"] and not any(sut["command_digest"] or sut["files"] for sut in record["suts"]),
             "it is of cassettes, and says that something was started")
        want(record["confinement"] is record["max_cost_usd"] is record["continues"] is None,
             "it is of cassettes, and was confined, capped or continued")
    check_figures(record)


# --- Objects: manifests and cassettes ------------------------------------------------------------------------------------------


def harmless(words):
    """The host's way to put somebody else's words behind a failure mode."""
    hidden = re.compile("[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
    short = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
    cut = hidden.sub(lambda m: short.get(m.group(), f"\\u{{{ord(m.group()):x}}}"), words[:240])
    return cut + (f"… ({len(words) - 240} more characters)" if len(words) > 240 else "")


def read_cassette(data):
    want(len(data) <= MOST_CASSETTE_BYTES, "it is too large for a cassette")
    check_version(data, (1, 1 << 64))
    cassette = parse(data, CASSETTE, "a cassette")
    want(cassette["schema_version"] == 1, "it is a cassette of a version that never was")
    want(math.copysign(1, cassette["duration_seconds"]) > 0 and math.copysign(1, cassette["cost_usd"]) > 0
         and cassette["cost_usd"] <= MOST_DOLLARS, "it is a cassette that cost what nothing costs")
    want(("output" in cassette) != ("error" in cassette), "it is a cassette without exactly one of output and error")
    error, provenance = cassette.get("error"), cassette.get("provenance")
    if provenance is not None:
        output = None if error is not None else blake(cassette["output"].raw.encode("utf-8"))
        want(cassette["kind"] == "recorded", "it is a solved example with a provenance")
        want(provenance["output_digest"] == output, "it is a cassette with the provenance of another output")
    if error is not None:
        (TIMEOUT if error.get("mode") == "timeout" else HARNESS_ERROR)(error)
    return cassette


def check_cassette(record, case, cassette):
    score, output = case["score"], record["output_digest_set"][case["case_id"]]
    for meter in ("cost_usd", "duration_seconds"):
        want(bits(score[meter]) == bits(cassette[meter]), f"the case has another {meter} than its cassette")
    if score["failure_modes"] == ["cassette_stale"]:
        return
    if "output" in cassette:
        want(output == blake(cassette["output"].raw.encode("utf-8")), "the case has another output than its cassette")
        return
    error = cassette["error"]
    mode = "timeout" if error["mode"] == "timeout" else f"harness_error: {error['kind']}: {harmless(error['message'])}"
    want(output is None and score["failure_modes"] == [mode], "the case ended otherwise than its cassette")
