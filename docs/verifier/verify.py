#!/usr/bin/env python3
"""Verifies stores and bundles of eval-host, from docs/record-format.md alone.

    python3 -m pip install blake3
    python3 verify.py <store folder or bundle.tar>... [--against CHECKPOINT] [--keys FILE] [--json]

It exits with 0 if everything is OK, with 1 if anything is not, and with 2 if the keys or the checkpoint cannot be used. --keys is the
file of trusted keys, such as audit/anchors/keys; without it no signature is checked, and --against needs it.

It needs Python 3.9 and PyPI's `blake3`, and shares no line with eval-host: it is the second implementation of one document. For
each path it prints the state (OK, INCOMPLETE, UNVERIFIABLE, TAMPERED) and every finding. It reads and never writes, follows no
link, and NEVER REPLAYS: it has no engine, so a record with invented scores and right hashes is OK here. It knows no last-seen
head either, so a tail that was cut off is noticed only with --against.
"""

import argparse
import errno
import fcntl
import hashlib
import json
import os
import re
import stat
import sys

from blake3 import blake3

from notes import Keys, MOST_CHECKPOINT_BYTES, MOST_NOTE_BYTES, open_note
from record import GENESIS, MANIFEST, RECORD, blake, check_cassette, check_contents, check_continued, check_record, read_cassette, sut_key
from strict import (Bad, INCOMPLETE, LONE, OK, STATES, TAMPERED, UNVERIFIABLE, check_version, count, digest, fields, list_of,
                    option, parse, part, slug, store_id, text, time, want)

MOST_RECORD_BYTES = MOST_OBJECT_BYTES = 64 << 20
MOST_MARKER_BYTES, MOST_ROOT_BYTES, MOST_ENTRIES = 64 << 10, 4096, 1_000_000
IGNORED = (".DS_Store", "Thumbs.db")
PACK_FIRST_LINE = b"eval-host/pack/v1\n"
MOST_PACK_LINE = 64 + 1 + 8 + 1
PACK_HEADER = re.compile(rb"([0-9a-f]{64}) (0|[1-9][0-9]{0,7})\n")
PACK_NAME = re.compile(r"[0-9a-f]{64}\.pack")
INDEX_NAME = re.compile(r"[0-9a-f]{64}\.index")
RECORD_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[0-9a-f]{8}\.json")
MARKER = fields({"schema_version": count, "store_id": store_id, "task_class": slug, "seq": count, "prev": option(digest),
                 "started_at": time, "cases": count}, {"shard": part, "shards": list_of(digest)})


class Missing(Exception):
    """There is no such file."""


def sha256(data):
    return hashlib.sha256(data).hexdigest()


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

    def is_being_written(self, name):
        """Whether somebody holds a lock on the draft of a pack, or it is gone meanwhile."""
        path = os.path.join(self.root, "packs", name)
        try:
            want(stat.S_ISREG(os.lstat(path).st_mode), "it is neither a pack nor the index of one")
            with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EWOULDBLOCK):
                return True
            raise Bad(UNVERIFIABLE, f"it cannot be read: {error.strerror}") from None

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

    def open(self, area, name):
        path = os.path.join(self.root, area, name)
        try:
            want(stat.S_ISREG(os.lstat(path).st_mode), "it is not a file")
            file = open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
        except FileNotFoundError:
            raise Missing from None
        except OSError as error:
            raise Bad(UNVERIFIABLE, f"it cannot be read: {error.strerror}") from None
        return file, os.fstat(file.fileno()).st_size

    def part(self, area, name, start, length):
        file, _ = self.open(area, name)
        with file:
            file.seek(start)
            return file.read(length)


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
        runs = {name for name in order if name.startswith("runs/") and (RECORD_NAME.fullmatch(name[5:]) or is_note(name[5:]))}
        packs = [name for name in order if name.startswith("packs/") and PACK_NAME.fullmatch(name[6:])][:1]
        want(order == ["store.json", "bundle.json"] + sorted(runs) + packs, "the bundle has other entries, or in another order")

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

    def open(self, area, name):
        start, length = self.entries[f"{area}/{name}"]
        self.file.seek(start)
        return self.file, length

    def part(self, area, name, start, length):
        return self.at(self.entries[f"{area}/{name}"][0] + start, length)


def read_pack(file, size, add):
    """Shows every object of a pack, and gives the name that its lines make. What was shown before something is wrong stays."""
    lines, at = blake3(PACK_FIRST_LINE), len(PACK_FIRST_LINE)
    want(size >= at and file.read(at) == PACK_FIRST_LINE, "it does not begin as a pack does")
    while at < size:
        line = file.readline(MOST_PACK_LINE)
        header = PACK_HEADER.fullmatch(line)
        want(header and int(header[2]) <= MOST_OBJECT_BYTES, f"there is no header of an object at byte {at}")
        start, length = at + len(line), int(header[2])
        want(start + length < size, f"an object does not end where its header at byte {at} says")
        content = file.read(length)
        want(file.read(1) == b"\n", f"an object does not end where its header at byte {at} says")
        add(header[1].decode(), start, content)
        lines.update(line)
        at = start + length + 1
    return lines.hexdigest() + ".pack"


# --- A whole body of evidence --------------------------------------------------------------------------------------------------

def is_note(name):
    return name.endswith(".note") and RECORD_NAME.fullmatch(name[:-5] + ".json") is not None


def file_name(moment, hash_):
    return f"{moment.replace('-', '').replace(':', '')}-{hash_[:8]}.json"


class Verification:
    def __init__(self, path, keys=None, checkpoint=None):
        self.keys, self.findings, self.notes = keys, [], []
        # Records by their places, places of records that cannot be relied on, and whether there are any that cannot be read.
        self.links, self.damaged, self.unread_records = {}, set(), False
        # Where each object is that is what its header says, which ones are there and are not, and which ones must be there.
        self.objects, self.changed, self.required, self.packed = {}, set(), set(), []
        self.markers, self.newer, self.bundle = {}, set(), None
        try:
            self.source = Archive(path) if os.path.isfile(path) and not os.path.islink(path) else Folder(path)
            self.id = self.identity()
            self.bundle = self.left_out()
            areas = {area: self.source.names(area) for area in ("runs", "packs", "started")}
        except Bad as bad:
            self.report(bad, "the store")
            return
        for name in areas["packs"]:
            self.attempt(f"packs/{name!r}", self.read_resident, name)
        self.read_records(areas["runs"])
        self.walk([(record, hash_) for links in self.links.values() for record, hash_ in links])
        for links in self.links.values():
            for record, hash_ in links:
                self.check(record, hash_)
        self.read_notes(areas["runs"])
        if not self.source.is_archive:
            self.read_markers(areas["started"])
        else:
            self.check_archive()
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
            data = self.source.read("", "store.json", MOST_ROOT_BYTES)
        except Missing:
            has_records = os.path.isdir(os.path.join(self.source.root, "runs")) and self.source.names("runs")
            state = TAMPERED if has_records else UNVERIFIABLE
            raise Bad(state, "there is no store.json that says which store this is") from None
        check_version(data, (1, 1 << 64))
        found = parse(data, fields({"schema_version": count, "store_id": store_id}), "a store's identity")["store_id"]
        want(data == b'{"schema_version":1,"store_id":"%s"}\n' % found.encode(), "store.json was edited")
        return found

    def left_out(self):
        try:
            data = self.source.read("", "bundle.json", MOST_ROOT_BYTES)
        except Missing:
            return None
        check_version(data, (1, 1 << 64))
        shape_ = fields({"schema_version": count, "task_class": slug, "seq": count, "record": digest, "left_out": list_of(text)})
        found = parse(data, shape_, "a bundle's description")
        spelled = '{"schema_version":1,"task_class":"%s","seq":%d,"record":"%s","left_out":["markers",' \
                  '"objects_of_earlier_records","other_task_classes"]}\n' % (found["task_class"], found["seq"], found["record"])
        want(data == spelled.encode() and found["seq"] > 0, "bundle.json was edited")
        return found

    def is_earlier(self, record):
        """Whether the objects of a record may have been left out of a bundle."""
        return self.bundle is not None and record["task_class"] == self.bundle["task_class"] and record["seq"] < self.bundle["seq"]

    # Packs and what is in them.

    def read_resident(self, name):
        if PACK_NAME.fullmatch(name):
            self.read_pack(name)
        elif name.startswith(".tmp-") and not LONE.search(name):
            if not self.source.is_being_written(name):
                raise Bad(INCOMPLETE, "a crash left it unfinished")
        else:
            want(INDEX_NAME.fullmatch(name) or name in IGNORED, "it is neither a pack nor the index of one")

    def read_pack(self, name):
        def add(digest_, start, content):
            self.packed.append(digest_)
            if blake(content) == digest_:
                self.objects[digest_] = (name, start, len(content))
            else:
                self.changed.add(digest_)
                self.report(Bad(TAMPERED, f"the object {digest_} was changed"), f"packs/{name}")

        file, size = self.source.open("packs", name)
        found = read_pack(file, size, add)
        want(found == name, f"it was edited or renamed: a pack with these lines is called {found}")

    # Records and their chains.

    def read_records(self, names):
        for name in names:
            if RECORD_NAME.fullmatch(name):
                self.attempt(f"runs/{name}", self.read_record, name)
                self.unread_records |= bool(self.findings) and self.findings[-1][:2] == (UNVERIFIABLE, f"runs/{name}")
            elif name.startswith(".tmp-") and not LONE.search(name):
                self.report(Bad(INCOMPLETE, "a crash left it unfinished"), f"runs/{name}")
            elif not is_note(name) and name not in IGNORED:
                self.report(Bad(TAMPERED, "it is neither a record nor a record's note"), f"runs/{name!r}")

    def read_record(self, name):
        data = self.source.read("runs", name, MOST_RECORD_BYTES)
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
        if record["continues"] is not None:
            self.attempt(where, self.check_continued, record)
        for name in ("rubric_digest", "registration_digest"):
            self.attempt(where, self.object, record, record[name])
        for name, manifest in record["case_digest_set"].items():
            self.attempt(where, self.check_manifest, record, name, manifest)
        cassettes = []
        for case in record["report"]["cases"]:
            for object_ in (record["output_digest_set"][case["case_id"]], case["logs_digest"], case["agent_log_digest"]):
                self.attempt(where, self.object, record, object_)
            if record["cassette_digest_set"][case["case_id"]] is not None:
                cassettes.append(self.attempt(where, self.check_cassette, record, case))
        # One that is missing or none is reported where it is, and nobody can tell what it would say.
        if record["mode"] == "cassette" and len([found for found in cassettes if found]) == len(cassettes):
            self.attempt(where, self.check_answers, record, cassettes)

    def check_continued(self, record):
        places = [(place, links) for place, links in self.links.items() if place[0] == record["task_class"] and place[1] < record["seq"]]
        earlier = [found for _, links in places for found, hash_ in links if hash_ == record["continues"]]
        # One that cannot be read may be the one that is named.
        want(earlier or self.unread_records, "it continues a record that is not there")
        for found in earlier:
            check_continued(record, found)

    def object(self, record, name):
        """The content of an object, or None where it may be missing."""
        if name is None:
            return None
        if not self.is_earlier(record):
            self.required.add(name)
        if name in self.objects:
            return self.source.part("packs", *self.objects[name])
        want(name not in self.changed, f"the object {name} was changed")
        if self.is_earlier(record):
            return None
        raise Bad(UNVERIFIABLE, f"the object {name} is missing")

    def check_manifest(self, record, case_id, name):
        data = self.object(record, name)
        if data is None:
            return
        manifest = parse(data, MANIFEST, "a case's manifest")
        is_it = (manifest["case_id"], manifest["task_class"]) == (case_id, record["task_class"])
        want(is_it, f"case {case_id} has the manifest of another case")
        for _, file in manifest["files"]:
            self.object(record, file)

    def check_cassette(self, record, case):
        data = self.object(record, record["cassette_digest_set"][case["case_id"]])
        if data is None:
            return None
        cassette = read_cassette(data)
        check_cassette(record, case, cassette)
        return cassette

    @staticmethod
    def check_answers(record, cassettes):
        asked = [cassette["sut"] for cassette in cassettes if "output" in cassette] or [cassette["sut"] for cassette in cassettes]
        suts = {(sut["name"], sut["version"], sut.get("model"), None, ()) for sut in asked}
        kinds = {cassette["kind"].replace("-", "_") for cassette in cassettes}
        want({sut_key(sut) for sut in record["suts"]} == suts, "its suts are not those of its cassettes")
        want(set(record["output_kinds"]) == kinds, "its output_kinds are not those of its cassettes")

    # Signatures of records.

    def read_notes(self, names):
        records = {file_name(record["finished_at"], hash_): (record, hash_) for links in self.links.values() for record, hash_ in links}
        signed_ = 0
        for name in names:
            if not is_note(name):
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
        data = self.source.read("runs", name, MOST_NOTE_BYTES)
        message, _ = open_note(data, ())
        want(not data.endswith(b"\n\n"), "nobody signed it")
        said = f"eval-host/record/v1\n{self.id}\n{record['task_class']} {record['seq']} {hash_}\n"
        want(message == said, "it says something else than its record")
        return self.keys is not None and self.keys.signed_record(data, record, hash_)

    # Markers of live runs.

    def read_markers(self, names):
        places = {}
        for name in names:
            if not name.startswith(".tmp-") and name not in IGNORED:
                self.attempt(f"started/{name!r}", self.read_marker, name, places)
        for class_, chain in places.items():
            self.walk_chain(f"marker {{}} of {class_}", chain, self.unread(chain), None)
        wrong = {own: self.wrongly_listed(marker) for own, marker in self.markers.items()}
        named = {}
        for links in self.links.values():
            for record, _ in links:
                if record["started_marker"] is not None:
                    self.attempt(f"record {record['seq']} of {record['task_class']}", self.name_marker, record, named, wrong)
        unfinished = len([marker for marker in self.markers if marker not in named])
        self.notes.append("how many live runs were not finished is unknown" if self.bundle else f"{unfinished} unfinished live runs")

    def unread(self, chain):
        """The places that markers of a newer version must have: those before one that names one of them."""
        seqs, before = set(), 0
        for seq in sorted(chain):
            if seq - before - 1 <= len(self.newer) and all(prev in self.newer for prev, _ in chain[seq]):
                seqs.update(range(before + 1, seq))
            before = seq
        return seqs

    def read_marker(self, name, places):
        data = self.source.read("started", name, MOST_MARKER_BYTES)
        own = blake(data)
        try:
            check_version(data, (1, 1 << 64))
        except Bad:
            self.newer.add(own)
            raise
        marker = parse(data, MARKER, "a marker")
        want(marker["store_id"] == self.id, "it belongs to another store")
        want(file_name(marker["started_at"], own) == name, "it was edited or renamed")
        want(marker["schema_version"] == 1 and marker.get("seq", 1) > 0, "there is no such version or number")
        places.setdefault(marker["task_class"], {}).setdefault(marker.get("seq", 0), []).append((marker.get("prev"), own))
        self.markers[own] = marker

    def wrongly_listed(self, marker):
        """Those of the listed markers that announced no shard of this run. They are not finished by it."""
        wrong, parts = set(), set()
        for own in marker.get("shards", ()):
            listed = self.markers.get(own)
            if listed is None:
                continue
            part_ = listed.get("shard")
            of = {other.split("/")[1] for other in parts}
            if listed["task_class"] != marker["task_class"] or part_ is None or part_ in parts or of - {part_.split("/")[1]}:
                wrong.add(own)
                where = f"marker {marker['seq']} of {marker['task_class']}"
                self.report(Bad(TAMPERED, f"it lists the marker {own}, which announced no other shard of its run"), where)
            else:
                parts.add(part_)
        return wrong

    def name_marker(self, record, named, wrong):
        first = record["started_marker"]
        for own in [first, *(own for own in self.markers.get(first, {}).get("shards", ()) if own not in wrong[first])]:
            unknown = self.bundle is not None and self.bundle["task_class"] == record["task_class"] and record["seq"] <= self.bundle["seq"]
            want(own in self.markers or own in self.newer or unknown, f"the marker {own}, which announced it, is gone")
            want(named.setdefault(own, record) is record, f"the marker {own} announced another record too")
        announced = self.markers.get(first, record)["task_class"]
        want(announced == record["task_class"], f"the marker {first} announced a run of {announced}")

    # Bundles and checkpoints.

    def check_bundle(self):
        # A record that cannot be read may be the one that is looked for.
        if self.bundle is not None and not self.unread_records:
            place = self.links.get((self.bundle["task_class"], self.bundle["seq"]), [])
            if [hash_ for _, hash_ in place] != [self.bundle["record"]]:
                self.report(Bad(TAMPERED, "it is not the record that bundle.json names"), f"record {self.bundle['seq']}")

    def check_archive(self):
        self.notes.append("how many live runs were not finished is unknown")
        for name, seq in self.links:
            if name != self.bundle["task_class"] or seq > self.bundle["seq"]:
                self.report(Bad(TAMPERED, "it does not belong in this bundle"), f"record {seq} of {name}")
        # Where something that names objects cannot be read, nobody can tell which are too many.
        for name in self.packed if self.state() != UNVERIFIABLE else ():
            if name not in self.required:
                self.report(Bad(TAMPERED, f"the record of the bundle does not name the object {name}"), "packs")
        if self.packed != sorted(set(self.packed)):
            self.report(Bad(TAMPERED, "the objects of a bundle stand in the order of their digests, each once"), "packs")

    def compare(self, checkpoint):
        part = self.bundle is not None
        if checkpoint.store_id != self.id:
            self.report(Bad(TAMPERED, f"the checkpoint is of the store {checkpoint.store_id}"), "the store")
            return
        own = {name for name, _ in self.links}
        for name in sorted(own) if part else ():
            if name not in checkpoint.classes or checkpoint.classes[name][0] == 0:
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
            if announced and not part and last not in self.newer and markers.get((name, announced)) != last:
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
                checkpoint = keys.checkpoint(file.read(MOST_CHECKPOINT_BYTES))
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
