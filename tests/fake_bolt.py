"""A Bolt connection in memory that answers the queries of an export, and fails on demand."""

from __future__ import annotations

import re
import threading
from contextlib import contextmanager
from dataclasses import replace

import neo4j
import numpy as np
from fake_server import FACTS
from neo4j.exceptions import DriverError, Neo4jError, ServiceUnavailable

from gpugda.errors import SourceError


def out_of_memory():
    """The server's error when a transaction exceeds its memory."""
    code = "Neo.TransientError.General.MemoryPoolOutOfMemoryError"
    return Neo4jError._hydrate_neo4j(code=code, message="too much")


class Guard:
    deadline = 0.0
    fired = False


class FakeSession:
    """A session. After `cut_connection`, a waiting ``run`` raises the driver's error."""

    def __init__(self, bolt):
        self._bolt = bolt
        self._connection = self
        self.cut = threading.Event()

    def kill(self):
        self.cut.set()

    def run(self, text, parameters=None):
        records = self._bolt.answer(text, parameters or {}, self)
        return FakeResult(records)


class FakeResult:
    def __init__(self, records):
        self._records = iter(records)

    def __iter__(self):
        return self._records

    def fetch(self, count):
        return [record for _, record in zip(range(count), self._records, strict=False)]


class FakeBolt:
    """Nodes are ``{id: labels}``, relationships ``{id: (source, type, target)}``.

    ``before(text, parameters, session)`` is called before each answer: it may raise or wait.
    """

    def __init__(self, nodes=None, relationships=None, sessions=2, before=None, plugin=""):
        self.facts = replace(FACTS, plugin=plugin)
        self.nodes = dict(nodes or {})
        self.relationships = dict(relationships or {})
        self.sessions = sessions
        self.before = before
        self.asked = []
        self.versions = []  # versions at which queries end, in order; empty: not reported
        self.open_sessions = 0
        self._lock = threading.Lock()

    # -------------------------------------------------------------- as BoltConnection
    @contextmanager
    def session(self, *, bookmarks=None, access="READ", bulk=False):
        with self._lock:
            self.open_sessions += 1
        try:
            yield FakeSession(self)
        finally:
            with self._lock:
                self.open_sessions -= 1

    @contextmanager
    def check(self, doing):
        try:
            yield
        except (Neo4jError, DriverError) as error:
            raise SourceError(f"{doing} failed: {error}") from error

    @contextmanager
    def watch(self, session, seconds):
        yield Guard()

    def prefix(self, text):
        return text

    def link_of(self, session):
        return session

    def version_after(self, session, link):
        with self._lock:
            return self.versions.pop(0) if self.versions else None

    # -------------------------------------------------------------- answers
    def answer(self, text, parameters, session):
        with self._lock:
            self.asked.append((text, dict(parameters)))
        if self.before is not None:
            self.before(text, parameters, session)
        if session.cut.is_set():
            raise ServiceUnavailable("cut")
        return [neo4j.Record(row) for row in self._rows(text, parameters)]

    def pages(self, part):
        """Parameters of the queries whose text contains ``part``, in order."""
        return [parameters for text, parameters in self.asked if part in text]

    def _rows(self, text, parameters):
        if "CALL gpugda.nodes" in text:
            return [packed_nodes(self.nodes, *ids) for ids in _rows_of(parameters)]
        if "CALL gpugda.relationships" in text:
            return [packed_relationships(self.relationships, *ids) for ids in _rows_of(parameters)]
        if "elementId" in text:
            kind, table = (4, self.nodes) if "MATCH (x)" in text else (5, self.relationships)
            return [{"id": each, "text": f"{kind}:fake:{each}"} for each in list(table)[:20]]
        if "db.relationshipTypes" in text:
            types = dict.fromkeys(kind for _, kind, _ in self.relationships.values())
            return [{"name": name} for name in types]
        if "count(x)" in text:
            return [{"count": len(self._pattern(text))}]
        if "DISTINCT" in text:
            found = {
                each // parameters["width"]
                for each in self._pattern(text)
                if each >= parameters["first"]
            }
            return [{"places": list(found)[: parameters["most"]]}]
        if "AS degrees" in text:
            ids = self._ids(text, parameters, self.nodes)
            out = [source for source, _, _ in self.relationships.values()]
            return [{"ids": ids, "degrees": [out.count(each) for each in ids]}]
        if "AS id" in text and "collect" not in text:
            return [{"id": each} for each in self._pattern(text) if each >= parameters["first"]]
        if "labels(x)" in text:
            return self._labelled(text, parameters)
        return [self._packed(text, parameters)]

    def _pattern(self, text):
        """Ids of the entities that a pattern with labels or types binds to x."""
        names = re.findall(r"[:|]`((?:[^`]|``)*)`", text)
        wanted = {name.replace("``", "`") for name in names} or None
        if "[x" in text:
            table = self.relationships.items()
            return [each for each, row in table if wanted is None or row[1] in wanted]
        table = self.nodes.items()
        return [each for each, labels in table if wanted is None or wanted & set(labels)]

    def _ids(self, text, parameters, table):
        if "range(" in text:
            first, last = parameters["first"], parameters["last"]
            return sorted(each for each in table if first <= each <= last)
        if "[$node]" in text:
            return [parameters["node"]]
        return [each for each in parameters["ids"] if each in table]

    def _labelled(self, text, parameters):
        groups = {}
        wanted = set(parameters.get("labels", ()))
        for each in self._ids(text, parameters, self.nodes):
            if not wanted or wanted & set(self.nodes[each]):
                groups.setdefault(tuple(self.nodes[each]), []).append(each)
        return [{"labels": list(labels), "ids": ids} for labels, ids in groups.items()]

    def _packed(self, text, parameters):
        if "WHERE id(r)" in text:
            found = self._ids(text, parameters, self.relationships)
        else:
            starts = set(self._ids(text, parameters, self.nodes))
            found = [each for each, row in self.relationships.items() if row[0] in starts]
        least = re.search(r"id\(r\) >= (\d+)", text)
        found = [each for each in found if least is None or each >= int(least[1])]
        if "part" in parameters:
            parts, part = parameters["parts"], parameters["part"]
            found = [each for each in found if (each + self.relationships[each][2]) % parts == part]
        if "types" in parameters:
            found = [each for each in found if self.relationships[each][1] in parameters["types"]]
        columns = re.findall(r"collect\((.*?)\) AS (word\d)", text)
        return {
            name: [self._value(expression, each, parameters) for each in found]
            for expression, name in columns
        }

    def _value(self, expression, number, parameters):
        """Evaluates the Cypher expression as Python."""
        source, kind, target = self.relationships[number]
        python = re.sub(
            r"coalesce\(\$codes\[type\(r\)\], (\d+)\)", r"codes.get(kind, \1)", expression
        )
        python = python.replace("$first", "first").replace("id(n)", "source")
        python = python.replace("id(m)", "target").replace("id(r)", "number")
        names = {
            "codes": parameters["codes"],
            "first": parameters.get("first"),
            "source": source,
            "target": target,
            "number": number,
            "kind": kind,
        }
        return eval(python, {"__builtins__": {}}, names)


# ------------------------------------------------------------------ the plugin's format
ROW = 20  # ids per row


def _rows_of(parameters):
    """First and last id of each row."""
    first, last = parameters["first"], parameters["last"]
    return [(low, min(last, low + ROW - 1)) for low in range(first, last + 1, ROW)]


def packed_nodes(nodes, first, last):
    """A row that gpugda.nodes returns."""
    ids = [each for each in sorted(nodes) if first <= each <= last]
    sets = list(dict.fromkeys(tuple(nodes[each]) for each in ids))
    return {
        "first": first,
        "count": len(ids),
        "ids": _offsets(ids, first, last),
        "codes": np.array([sets.index(tuple(nodes[each])) for each in ids], dtype="<u2").tobytes(),
        "labelSets": [list(labels) for labels in sets],
    }


def packed_relationships(relationships, first, last):
    """A row that gpugda.relationships returns."""
    ids = [each for each in sorted(relationships) if first <= each <= last]
    rows = [relationships[each] for each in ids]
    types = list(dict.fromkeys(kind for _, kind, _ in rows))
    return {
        "first": first,
        "count": len(ids),
        "ids": _offsets(ids, first, last),
        "sources": _narrow([source for source, _, _ in rows]),
        "targets": _narrow([target for _, _, target in rows]),
        "codes": np.array([types.index(kind) for _, kind, _ in rows], dtype="<u2").tobytes(),
        "types": types,
    }


def _offsets(ids, first, last):
    return b"" if len(ids) == last - first + 1 else _narrow([each - first for each in ids])


def _narrow(numbers):
    width = "<u4" if all(each < 2**32 for each in numbers) else "<i8"
    return np.array(numbers, dtype=width).tobytes()
