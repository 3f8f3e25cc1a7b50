"""JSON read strictly, and the shapes of its values, as the chapter "Spelling" of docs/record-format.md has it."""

import json
import math
import re

OK, INCOMPLETE, UNVERIFIABLE, TAMPERED = STATES = ("OK", "INCOMPLETE", "UNVERIFIABLE", "TAMPERED")


class Bad(Exception):
    """Something is wrong, and how bad that is."""

    def __init__(self, state, what):
        super().__init__(what)
        self.state = state


def want(holds, what):
    if not holds:
        raise Bad(TAMPERED, what)


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
    if match is None:
        return False
    year, month, day, hour, minute, second = map(int, match.groups())
    return is_day(year, month, day) and hour < 24 and minute < 60 and second < 60


def is_day(year, month, day):
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= month <= 12 and 1 <= day <= (31, 28 + leap, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def is_date(value):
    match = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value, re.ASCII)
    return match is not None and is_day(*map(int, match.groups()))


def is_part(value):
    match = re.fullmatch(r"([1-9][0-9]{0,19})/([1-9][0-9]{0,19})", value, re.ASCII)
    return match is not None and int(match[1]) <= int(match[2]) < 1 << 64


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
part = shape(lambda value: isinstance(value, str) and is_part(value), "a part of a run")
date = shape(lambda value: isinstance(value, str) and is_date(value), "a day")
rfc3339 = pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:?[0-9]{2})", "a time")
