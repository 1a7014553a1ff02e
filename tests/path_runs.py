"""Runs random path queries on several engines, and compares their rows."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from language_runs import Answer, answer, shown
from made_path_queries import made_path_graph, made_path_query
from made_queries import MadeGraph, MadeQuery

import gpugda

__all__ = ["PathFindings", "compare_paths"]

_QUERIES_PER_GRAPH = 20


@dataclass
class PathFindings:
    """Results of many queries.

    Attributes:
        answered: Number of answers that were compared.
        rows: Number of rows of the reference.
        ties: Answers that differ since one of several shortest paths was taken.
        late: Answers that took too long, mostly the reference's.
        refused: Number of refusals, per construct.
        errors: Queries that fail on one side only.
        differences: Answers that differ.
    """

    answered: int = 0
    rows: int = 0
    ties: int = 0
    late: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def compare_paths(
    seed: int,
    count: int,
    kind: str,
    engines: tuple[str, ...] = ("gpu",),
    drivers: dict[str, Any] | None = None,
) -> PathFindings:
    """Compares the answers of engines and servers with those of the reference.

    Args:
        seed: Seed of all random choices.
        count: Number of queries.
        kind: One of the kinds of `made_path_queries`.
        engines: Engines of gpugda beside the reference.
        drivers: Drivers of Neo4j by name. Graphs are made in transactions that are rolled back.
    """
    findings = PathFindings()
    for first in range(0, count, _QUERIES_PER_GRAPH):
        own = f"{kind} {seed} {first}"
        rng = random.Random(own)
        graph = made_path_graph(rng)
        queries = [
            made_path_query(rng, len(graph.nodes), kind)
            for _ in range(min(_QUERIES_PER_GRAPH, count - first))
        ]
        nodes, relationships = graph.tables()
        with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as connected:
            for query in queries:
                _compare_one(findings, own, graph, query.text, query.every, connected, engines)
                for name, driver in (drivers or {}).items():
                    _compare_server(findings, own, graph, query, connected, name, driver)
    return findings


def _by(connected: Any, text: str, engine: str) -> Answer:
    query = MadeQuery(text, {}, bags=False, merges=False)
    return answer(lambda: connected.run(text, engine=engine, timeout=30), query)


def _compare_one(
    findings: PathFindings,
    own: str,
    graph: MadeGraph,
    text: str,
    every: str,
    connected: Any,
    engines: tuple[str, ...],
) -> None:
    expected = _by(connected, text, "reference")
    if expected[0] == "rows":
        findings.rows += expected[1][1].total()
    if expected[0] == "refused":
        findings.refused[f"reference: {expected[1]}"] += 1
    for engine in engines:
        found = _by(connected, text, engine)
        _judge(findings, own, graph, text, every, connected, engine, found, expected)


def _compare_server(
    findings: PathFindings,
    own: str,
    graph: MadeGraph,
    query: Any,
    connected: Any,
    name: str,
    driver: Any,
) -> None:
    made = MadeQuery(query.text, {}, bags=False, merges=False)
    with driver.session() as session:
        transaction = session.begin_transaction()
        try:
            transaction.run(_created(graph)).consume()
            found = answer(lambda: transaction.run(query.text), made)
        finally:
            transaction.close()  # rolls back
    expected = _by(connected, query.text, "reference")
    _judge(findings, own, graph, query.text, query.every, connected, name, found, expected)


def _created(graph: MadeGraph) -> str:
    """One CREATE for the whole graph."""
    nodes = [
        f"(n{each['k']}{''.join(map(':{}'.format, labels))} {{k: {each['k']}, i: {each['i']}}})"
        for labels, each in graph.nodes
    ]
    relationships = [
        f"(n{start})-[:{kind} {{k: {each['k']}, i: {each['i']}}}]->(n{end})"
        for start, kind, end, each in graph.relationships
    ]
    return "CREATE " + ", ".join([*nodes, *relationships])


def _judge(
    findings: PathFindings,
    own: str,
    graph: MadeGraph,
    text: str,
    every: str,
    connected: Any,
    engine: str,
    found: Answer,
    expected: Answer,
) -> None:
    faults = [answer[1] for answer in (found, expected) if answer[0] == "fault"]
    if any(fault.startswith("QueryTimeoutError") for fault in faults):
        findings.late += 1
        return
    if "refused" in (found[0], expected[0]):
        construct = found[1] if found[0] == "refused" else expected[1]
        findings.refused[f"{engine}: {construct}"] += 1
        return
    findings.answered += 1
    if found == expected or _is_repeated(text, found, expected):
        return
    whole = f"seed {own}, {engine}: {text}\n  reference: {shown(expected, found)}"
    whole += f"\n  {engine}: {shown(found, expected)}\n  graph: {graph}"
    if {found[0], expected[0]} == {"error", "rows"}:
        findings.errors.append(whole)
    elif every != text and _by(connected, every, "reference") != expected:
        findings.ties += 1
    else:
        findings.differences.append(whole)


def _is_repeated(text: str, found: Answer, expected: Answer) -> bool:
    """True if 5.26.0 gave paths of ``allShortestPaths`` more than once each, as it does."""
    if "allShortestPaths" not in text or found[0] != "rows" or expected[0] != "rows":
        return False
    without = [{row[:-1] for row in each[1][1]} for each in (found, expected)]
    return without[0] == without[1]
