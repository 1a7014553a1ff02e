"""A database in memory that knows the statements with which the benchmark writes and removes."""

from __future__ import annotations

import re
from collections import Counter
from types import SimpleNamespace


class FakeGraphDatabase:
    """Nodes by id, relationships by id, indexes, and every statement.

    Args:
        refused: A text; statements that contain it fail.
    """

    def __init__(self, refused=None):
        self.nodes, self.relationships, self.indexes = {}, {}, {}
        self.statements, self.connected, self.refused = [], [], refused
        self.made = 0

    def connect(self, address, **options):
        """In place of `gpugda.connect`."""
        self.connected.append(address)
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def status(self):
        return {"device": "none", "server": "Neo4j"}

    def run(self, text, parameters=None, *, engine="auto", **options):
        self.statements.append(text)
        if self.refused is not None and self.refused in text:
            raise OSError("the client is gone")
        rows = self.answer(text, parameters or {})
        return SimpleNamespace(values=lambda: rows, summary=None)

    def create(self, *labels):
        self.made += 1
        self.nodes[f"node {self.made}"] = labels
        return f"node {self.made}"

    def join(self, start, name, end):
        self.made += 1
        self.relationships[f"relationship {self.made}"] = (start, name, end)
        return f"relationship {self.made}"

    def answer(self, text, parameters):
        if "INDEX" in text:
            return self.schema(text.split(), re.findall(r"`([^`]+)`", text))
        if "DELETE" in text:
            return self.delete(text, parameters)
        if "CREATE" in text:
            return self.write(text, parameters)
        return self.read(text.split(), parameters)

    def schema(self, words, names):
        match words[0]:
            case "CREATE":
                self.indexes.setdefault(words[2], tuple(names))  # IF NOT EXISTS
            case "DROP":
                self.indexes.pop(names[0], None)
        return [[name] for name in self.indexes]

    def write(self, text, parameters):
        names = re.findall(r"`([^`]+)`", text)
        if "CREATE (n" not in text:
            return [[self.join(start, names[-1], end)] for start, end, _ in parameters["rows"]]
        labels = names or [text.partition(":")[2].partition(")")[0]]
        return [[self.create(*labels)] for _ in parameters.get("rows", [()])]

    def delete(self, text, parameters):
        ends = {end for start, _, end in self.relationships.values()}
        ends |= {start for start, _, _ in self.relationships.values()}
        if "DETACH" in text:
            count = len(self.nodes)
            self.nodes, self.relationships = {}, {}
            return [[count]]
        store = self.relationships if text.endswith("DELETE r") else self.nodes
        ids = {parameters["id"]} if "id" in parameters else set(parameters["ids"])
        if "NOT (n)--()" in text:
            ids -= ends
        assert store is self.relationships or not ids & ends  # as Neo4j, without DETACH
        for each in ids & store.keys():
            del store[each]
        return []

    def read(self, words, parameters):
        match words:
            case ["MATCH", "(n)", "RETURN", "labels(n)", *_]:
                return [[list(labels), n] for labels, n in Counter(self.nodes.values()).items()]
            case ["MATCH", "()-[r]->()", "RETURN", "type(r)", *_]:
                counted = Counter(name for _, name, _ in self.relationships.values())
                return [[name, n] for name, n in counted.items()]
            case [*_, "count(n)"]:
                return [[len(self.nodes.keys() & parameters.get("ids", self.nodes))]]
        return []
