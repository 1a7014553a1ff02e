"""Cases as text: a graph, a query, and Neo4j's answer.

A file `cases/TOPIC.case` is a list of blocks. A block begins with `graph NAME` or `case NAME`;
blank lines and lines that begin with `#` are ignored. Values are JSON with NaN and Infinity, in
which 1 and 1.0 differ.

    graph two people
    (ann:Person {"name": "Ann"})
    (bob)
    (ann)-[k:KNOWS {"since": 2000}]->(bob)

Every node and relationship has a name within the case, here ann, bob and k. A graph serves all
cases after it until the next one.

    case who knows whom
      MATCH (a)-[r:KNOWS]->(b)
      RETURN a.name, b, $p
    parameters {"p": 1}
    columns ["a.name", "b", "$p"]
    row ["Ann", "(bob)", 1]

The indented lines are the query. `(bob)` in a row is a node, `[k]` a relationship. Further lines:

    ordered     the rows come in this order (otherwise in any)
    merges      1 and 1.0 are interchangeable where DISTINCT or grouping chooses one
    rows 12     instead of the rows: only their number is determined
    error CypherSyntaxError: part of the message, may be empty
    native NaN  the device leaves the query to Neo4j, with a message that contains this
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import gpugda
from strategies import is_thorough

FOLDER = Path(__file__).parent / "conformance" / "cases"


@dataclass(frozen=True)
class CaseGraph:
    name: str
    nodes: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = field(default_factory=dict)
    relationships: dict[str, tuple[str, str, str, dict[str, Any]]] = field(default_factory=dict)

    def add(self, line: str) -> None:
        relationship = _RELATIONSHIP.fullmatch(line)
        if relationship:
            source, name, kind, properties, target = relationship.groups()
            assert source in self.nodes, line
            assert target in self.nodes, line
            assert name not in self.relationships, line
            found = json.loads(properties or "{}")
            self.relationships[name] = (source, kind.strip("`"), target, found)
            return
        node = _NODE.fullmatch(line)
        assert node, f"neither a node nor a relationship: {line}"
        assert node[1] not in self.nodes, line
        labels = tuple(label.strip("`") for label in re.findall(_LABEL, node[2]))
        self.nodes[node[1]] = (labels, json.loads(node[3] or "{}"))


_LABEL = r"`[^`]+`|\w+"
_NODE = re.compile(rf"\((\w+)((?::(?:{_LABEL}))*)\s*(\{{.*\}})?\)")
_RELATIONSHIP = re.compile(rf"\((\w+)\)-\[(\w+):({_LABEL})\s*(\{{.*\}})?\]->\((\w+)\)")


@dataclass(frozen=True)
class Case:
    topic: str
    name: str
    graph: CaseGraph
    query: str = ""
    parameters: dict[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[list[Any], ...] = ()
    row_count: int | None = None
    error: str = ""
    message: str = ""
    native: str = ""
    ordered: bool = False
    merges: bool = False

    @property
    def has_rows(self) -> bool:
        """True if the device answers it with rows."""
        return not self.error and not self.native

    def with_line(self, line: str) -> Case:
        if line.startswith("  "):
            return replace(self, query=f"{self.query}\n{line[2:]}" if self.query else line[2:])
        word, _, rest = line.partition(" ")
        if word in ("ordered", "merges"):
            return replace(self, **{word: True})
        if word == "error":
            name, _, message = rest.partition(":")
            return replace(self, error=name, message=message.strip())
        if word == "native":
            return replace(self, native=rest)
        if word == "parameters":
            return replace(self, parameters=json.loads(rest))
        if word == "columns":
            return replace(self, columns=tuple(json.loads(rest)))
        if word == "row":
            return replace(self, rows=(*self.rows, json.loads(rest)))
        assert word == "rows", f"{self.topic}, {self.name}: what is {line!r}?"
        return replace(self, row_count=int(rest))


def read_cases(path: Path) -> Iterator[Case]:
    graph, case = CaseGraph("no graph"), None
    for line in path.read_text("utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(("graph ", "case ")):
            if case:
                yield case
            word, _, name = line.partition(" ")
            graph = CaseGraph(name) if word == "graph" else graph
            case = Case(path.stem, name, graph) if word == "case" else None
        elif case:
            case = case.with_line(line)
        else:
            graph.add(line)
    if case:
        yield case


def all_cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.case")) for case in read_cases(path)]


# ------------------------------------------------------------------ as parameters of tests
def in_turn(
    cases: Iterable[Case], ways: Sequence[str], always: Sequence[str] = (), *, ci: int, fast: int
) -> list[Any]:
    """Every case in the ways of ``always``; one case in ``ci`` in one other, by turns.

    Of the others, one in ``fast`` is of `make test`. Thorough: every case in every way.
    """
    others = [way for way in ways if way not in always]
    found = []
    for case in cases:
        found += [_parameter(case, way, fast=True) for way in ways if way in always]
        other, number = others[turn(case, len(others))], turn(case, 1 << 32) // len(others)
        if number % ci == 0 or is_thorough():
            chosen = others if is_thorough() else [other]
            found += [_parameter(case, way, fast=number % (ci * fast) == 0) for way in chosen]
    return found


def one_in(ci: int, cases: Iterable[Case], *, fast: int) -> list[Any]:
    """One case in ``ci``, of which one in ``fast`` is of `make test`. Thorough: every case."""
    return [
        _parameter(case, fast=turn(case, ci * fast) == 0)
        for case in cases
        if turn(case, ci) == 0 or is_thorough()
    ]


def turn(case: Case, count: int) -> int:
    """Depends on the case's name alone, so that it stays the same when cases are added."""
    return zlib.crc32(f"{case.topic}: {case.name}".encode()) % count


def _parameter(case: Case, *ways: str, fast: bool) -> Any:
    name = "-".join([f"{case.topic}: {case.name}", *ways])
    return pytest.param(case, *ways, id=name, marks=() if fast else pytest.mark.slow)


# ------------------------------------------------------------------ the graph of a case
def source_of(graph: CaseGraph) -> Any:
    nodes = [
        {"id": name, "labels": list(labels), **properties}
        for name, (labels, properties) in graph.nodes.items()
    ]
    relationships = [
        {"source": source, "target": target, "type": kind, "case_name": name, **properties}
        for name, (source, kind, target, properties) in graph.relationships.items()
    ]
    return gpugda.graph(nodes=_table(nodes), relationships=_table(relationships) or None)


def _table(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    keys = dict.fromkeys(key for row in rows for key in row)
    return {key: [row.get(key) for row in rows] for key in keys}
