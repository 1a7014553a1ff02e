"""Queries for all engines: Cypher for gpugda, and the texts with which peers count the same.

Peers match homomorphically, so each gets inequalities between relationships, but only for those
that can coincide in the graph: others would slow it down without need.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.peer_graphs import PeerGraph

NODE = re.compile(r"\((?P<name>\w+)(?::(?P<label>\w+))?\)")
RELATIONSHIP = re.compile(
    r"(?P<left><?)-(?:\[(?P<name>\w+)?(?::(?P<types>[^\]]+))?\])?-(?P<right>>?)"
)
PROPERTY = re.compile(r"\b(\w+)\.\w+")


@dataclass(frozen=True)
class Step:
    """A query relationship; ``types`` is empty for any type."""

    name: str
    source: str
    target: str
    types: tuple[str, ...]
    directed: bool


@dataclass(frozen=True)
class Motif:
    """A count of a query graph.

    Args:
        kind: Kind of the graphs that it is for.
        name: Name for readers.
        text: ``MATCH … [WHERE … AND …] RETURN count(*)``.
        labels: Label by node; None for any.
        steps: The query relationships.
        conditions: Comparisons of properties, in a form common to all three languages.
    """

    kind: str
    name: str
    text: str
    labels: dict[str, str | None]
    steps: tuple[Step, ...]
    conditions: tuple[str, ...]


def motifs(kind: str) -> list[Motif]:
    """The motifs of a kind of graph, in the order of `peer_queries.txt`."""
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    fields = [
        [part.strip() for part in line.split("|", 2)]
        for line in lines
        if line and not line.startswith("#")
    ]
    return [parse(*each) for each in fields if each[0] == kind]


def parse(kind: str, name: str, text: str) -> Motif:
    """Parses the few forms that `peer_queries.txt` uses."""
    found = re.fullmatch(r"MATCH (.+?)(?: WHERE (.+))? RETURN count\(\*\)", text)
    assert found, text
    labels: dict[str, str | None] = {}
    steps: list[Step] = []
    for path in found[1].split(", "):
        position, before, relationship = 0, "", None
        while node := NODE.match(path, position):
            labels[node["name"]] = labels.get(node["name"]) or node["label"]
            if relationship:
                steps.append(_step(before, node["name"], relationship, len(steps)))
            relationship, before = RELATIONSHIP.match(path, node.end()), node["name"]
            position = relationship.end() if relationship else node.end()
        assert position == len(path), text
    conditions = tuple(found[2].split(" AND ")) if found[2] else ()
    return Motif(kind, name, text, labels, tuple(steps), conditions)


def _step(left: str, right: str, found: re.Match[str], number: int) -> Step:
    types = tuple(each.strip("`") for each in (found["types"] or "").split("|") if each)
    source, target = (right, left) if found["left"] else (left, right)
    directed = bool(found["left"] or found["right"])
    return Step(found["name"] or f"_{number}", source, target, types, directed)


# ------------------------------------------------------------------ relationships that can coincide
def meetings(motif: Motif, graph: PeerGraph) -> Iterator[tuple[str, str]]:
    """Pairs of query relationships that can match the same relationship of the graph."""
    disjoint = {
        frozenset(pair)
        for pair in combinations({label for label in motif.labels.values() if label}, 2)
        if not any(set(pair) <= set(labels) for labels in graph.label_sets)
    }
    for one, other in combinations(motif.steps, 2):
        if one.types and other.types and not set(one.types) & set(other.types):
            continue
        ways = [((one.source, other.source), (one.target, other.target))]
        if not (one.directed and other.directed):
            ways.append(((one.source, other.target), (one.target, other.source)))
        if any(_possible(motif, same, graph.types_with_loops, disjoint) for same in ways):
            yield one.name, other.name


def _possible(
    motif: Motif,
    same: tuple[tuple[str, str], ...],
    loops: set[str],
    disjoint: set[frozenset[str]],
) -> bool:
    """True if the nodes can coincide: no type lacks a loop that it needs, no labels are disjoint."""
    group = {node: node for node in motif.labels}
    for kept, merged in same:
        old, new = group[merged], group[kept]
        group = {node: new if each == old else each for node, each in group.items()}
    for step in motif.steps:
        if group[step.source] == group[step.target] and not (
            loops & set(step.types) if step.types else loops
        ):
            return False
    return not any(
        group[a] == group[b] and frozenset((motif.labels[a], motif.labels[b])) in disjoint
        for a, b in product(motif.labels, repeat=2)
        if motif.labels[a] and motif.labels[b]
    )


def star_count(motif: Motif, graph: PeerGraph) -> int | None:
    """Sum of falling factorials of the degrees if the motif is a star of equal leaves; else None.

    It is the reference where no engine except gpugda finishes.
    """
    alike = {(step.source, step.types, step.directed) for step in motif.steps}
    plain = not motif.conditions and not any(motif.labels.values())
    leaves = {step.target for step in motif.steps} - {step.source for step in motif.steps}
    if not plain or len(alike) > 1 or len(leaves) < len(motif.steps):
        return None
    ((_, types, directed),) = alike
    if types or not directed:
        return None
    degrees = np.unique(np.bincount(graph.source), return_counts=True)
    return sum(
        count * math.prod(range(degree - len(leaves) + 1, degree + 1))
        for degree, count in zip(*(each.tolist() for each in degrees), strict=True)
        if degree >= len(leaves)
    )


# ------------------------------------------------------------------ the peers' languages
def ladybug_text(motif: Motif, graph: PeerGraph) -> str:
    """Cypher with labels as node tables, and with inequalities of `rid`: faster there than `id()`."""

    def tables(label: str) -> str:
        return "|".join(labels[-1] for labels in graph.label_sets if label in labels)

    return _with_inequalities(motif, graph, tables)


def homomorphic_text(motif: Motif, graph: PeerGraph) -> str:
    """Cypher with unchanged labels, and with inequalities of `rid`."""
    return _with_inequalities(motif, graph, str)


def _with_inequalities(motif: Motif, graph: PeerGraph, label: Callable[[str], str]) -> str:
    conditions = [*motif.conditions, *(f"{a}.rid <> {b}.rid" for a, b in meetings(motif, graph))]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"MATCH {', '.join(_steps(motif, label))}{where} RETURN count(*)"


def _steps(motif: Motif, label: Callable[[str], str]) -> list[str]:
    def node(name: str) -> str:
        return f"({name}:{label(own)})" if (own := motif.labels[name]) else f"({name})"

    def relationship(step: Step) -> str:
        types = "|".join(f"`{each}`" for each in step.types)
        arrow = "->" if step.directed else "-"
        return f"-[{step.name}{':' if types else ''}{types}]{arrow}"

    return [node(each.source) + relationship(each) + node(each.target) for each in motif.steps]


def arcadedb_text(motif: Motif, graph: PeerGraph) -> str:
    """Cypher that names all labels and types, as only such nodes use ArcadeDB's analytical view.

    Relationships are distinct there by definition.
    """
    only = graph.label_sets[0][-1] if len(graph.label_sets) == 1 else None
    steps = [replace(each, types=each.types or tuple(graph.types)) for each in motif.steps]
    labels = {name: label or only for name, label in motif.labels.items()}
    named = replace(motif, labels=labels, steps=tuple(steps))
    where = f" WHERE {' AND '.join(motif.conditions)}" if motif.conditions else ""
    return f"MATCH {', '.join(_steps(named, str))}{where} RETURN count(*)"


def gfql_text(motif: Motif, graph: PeerGraph) -> str:
    """The unchanged query with a name for its column; relationships are distinct there, too."""
    return f"{motif.text} AS found"


def sql_text(motif: Motif, graph: PeerGraph) -> str:
    """A join of the types' tables (rid, source, target), and of node tables for tested nodes."""
    tested = {name for each in motif.conditions for name in PROPERTY.findall(each)}
    tables = [f"{_table(each, graph)} AS {each.name}" for each in motif.steps]
    places: dict[str, list[str]] = {}
    for step in motif.steps:
        places.setdefault(step.source, []).append(f"{step.name}.source")
        places.setdefault(step.target, []).append(f"{step.name}.target")
    for name, label in motif.labels.items():
        if (label and len(graph.label_sets) > 1) or name in tested:
            tables.append(f"{_quoted(label or 'nodes')} AS {name}")
            places[name].insert(0, f"{name}.id")
    conditions = [f"{first} = {each}" for first, *others in places.values() for each in others]
    conditions += motif.conditions
    conditions += [f"{a}.rid <> {b}.rid" for a, b in meetings(motif, graph)]
    return f"SELECT count(*) FROM {', '.join(tables)} WHERE {' AND '.join(conditions)}"


def _table(step: Step, graph: PeerGraph) -> str:
    tables = [_quoted(each) for each in step.types] or ["relationships"]
    if step.directed and len(tables) == 1:
        return tables[0]
    parts = [f"SELECT * FROM {table}" for table in tables]
    if not step.directed:
        parts += [
            f"SELECT * REPLACE (target AS source, source AS target) FROM {table} WHERE source <> target"
            for table in tables
        ]
    return f"({' UNION ALL '.join(parts)})"


def _quoted(name: str) -> str:
    return f'"{name}"'
