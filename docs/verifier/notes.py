"""Signed notes (c2sp.org/signed-note), Ed25519 (RFC 8032), trusted keys and checkpoints, as docs/record-format.md has them."""

import base64
import hashlib
import os
import re

from strict import Bad, TAMPERED, is_time, store_id, want

MOST_NOTE_BYTES, MOST_CHECKPOINT_BYTES, MOST_SIGNATURES = 16 << 10, 1 << 20, 100
GENESIS = "0" * 64
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
    right = hashlib.sha256(name.encode("utf-8") + b"\n" + data).hexdigest()[:8]
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
    """What somebody signed of a store: per task class (records, hash of the last, markers, digest of the last)."""

    LINE = re.compile("([a-z0-9][a-z0-9-]{0,63}) (0|[1-9][0-9]*) ([0-9a-f]{64}) (0|[1-9][0-9]*) ([0-9a-f]{64})")

    def __init__(self, message):
        lines = message.split("\n")[:-1]
        want(len(lines) > 2 and lines[0] == "eval-host/checkpoint/v1", "it is not a checkpoint")
        store_id(lines[1])
        want(is_time(lines[2]), "it is not a checkpoint: it has no time")
        self.store_id, self.classes = lines[1], {}
        for line in lines[3:]:
            match = self.LINE.fullmatch(line)
            want(match, "it is not a checkpoint: a line in it is none")
            name, records, head, markers, last = match.groups()
            records, markers = int(records), int(markers)
            want((records == 0) == (head == GENESIS) and (markers == 0) == (last == GENESIS), "zeros stand in a wrong place")
            want(records + markers > 0 and name > max(self.classes, default=""), "its lines are not sorted")
            self.classes[name] = (records, head, markers, last)

    def covers(self, store, name, records=0, head=GENESIS, markers=0, last=GENESIS):
        """Whether so much of a class is no more than this checkpoint has. What both end with must be the same."""
        own = self.classes.get(name, (0, GENESIS, 0, GENESIS))
        return store == self.store_id and (records < own[0] or records in (0, own[0]) and head in (GENESIS, own[1])) and (
            markers < own[2] or markers in (0, own[2]) and last in (GENESIS, own[3]))


def read_file(folder, name, most):
    want(name not in ("", ".", "..") and "/" not in name, f"{name!r} is not the name of a file")
    with open(os.path.join(folder, name), "rb") as file:
        return file.read(most)


class Keys:
    """Who is trusted: each (name, id, key), with the last checkpoints that a retired one is limited to, or None."""

    def __init__(self, path):
        folder, self.keys = os.path.dirname(os.path.abspath(path)), {}
        for line in read_file(folder, os.path.basename(path), MOST_CHECKPOINT_BYTES).decode("utf-8").splitlines():
            if line and not line.startswith("#"):
                self.read_line(folder, line.split(" "))
        rotations = [name for name in os.listdir(folder) if name.startswith("rotation-") and name.endswith(".txt")]
        # A key that was brought in may have brought in another.
        for _ in rotations:
            for name in rotations:
                self.read_rotation(name, read_file(folder, name, MOST_CHECKPOINT_BYTES))

    def read_line(self, folder, words):
        key = read_key(words[0])
        if len(words) == 1:
            want(self.keys.setdefault(key, None) is None, f"{words[0]} is retired and is not")
            return
        want(len(words) == 3 and words[1] == "retired", f"{words} trusts nobody")
        message, signers = open_note(read_file(folder, words[2], MOST_CHECKPOINT_BYTES), [key])
        want(signers, f"{words[2]} is not signed by the key that is retired with it")
        last = self.keys.setdefault(key, [])
        want(last is not None, f"{words[0]} is retired and is not")
        last.append(Checkpoint(message))

    def read_rotation(self, name, data):
        message, signers = open_note(data, self.keys)
        if signers:
            lines = message.split("\n")
            want(len(lines) == 3 and lines[0] == "eval-host/key/v1", f"{name} is no rotation note")
            key = read_key(lines[1])
            want(name == f"rotation-{key[1].hex()}.txt", f"{name} is the rotation note of another key")
            # What a line of the keys file says of it counts more.
            self.keys.setdefault(key, None)

    def trusts(self, signers, is_covered):
        """Whether one of the keys may have signed what `is_covered` says of a retired key's last checkpoint."""
        return any(self.keys[key] is None or any(map(is_covered, self.keys[key])) for key in signers)

    def checkpoint(self, data):
        message, signers = open_note(data, self.keys)
        found = Checkpoint(message)

        def is_covered(last):
            return last.store_id == found.store_id and all(last.covers(found.store_id, *item) for item in (
                (name, *line) for name, line in found.classes.items()))

        want(self.trusts(signers, is_covered), "no key that is trusted for it signed the checkpoint")
        return found

    def signed_record(self, data, record, hash_):
        """Whether a trusted key signed a record's note."""
        _, signers = open_note(data, self.keys)
        place = (record["store_id"], record["task_class"], record["seq"], hash_)
        return self.trusts(signers, lambda last: last.covers(*place))
