"""Random queries of the whole read language on several engines, and comparison of answers."""

from __future__ import annotations

import functools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from made_queries import MadeGraph, MadeQuery, Maker, made_graph

import gpugda
from gpugda.errors import QueryError, UnsupportedQueryError

_QUERIES_PER_GRAPH = 25

Answer = tuple[str, Any]
"""``rows`` with columns and rows, ``error`` with its kind, or ``refused`` with the construct."""


@dataclass
class Findings:
    """Results of many queries.

    Attributes:
        answered: Number of answers that were compared.
        rows: Number of rows of the reference.
        errors: Number of compared answers that are errors.
        refused: Number of refusals by the device, per construct.
        stricter: Queries that Neo4j does not compile, but the reference answers.
        late: Queries that took the reference too long.
        only_one_fails: Queries that fail with a run-time error on one side only.
        differences: Answers that differ.
    """

    answered: int = 0
    rows: int = 0
    errors: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    stricter: list[str] = field(default_factory=list)
    late: int = 0
    only_one_fails: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


# ------------------------------------------------------------------ comparing
def key_of(value: Any, *, merges: bool, bags: bool) -> Any:
    """A hashable form of a value: entities by their numbers, floats to 12 digits."""
    if hasattr(value, "relationships"):
        parts = (*value.nodes, *value.relationships)
        return ("path", *(key_of(part, merges=merges, bags=False) for part in parts))
    if hasattr(value, "labels"):
        return "node", value["k"]
    if hasattr(value, "start_node"):
        return "relationship", value["k"]
    if type(value).__name__ == "BrokenHydrationObject":  # a date beyond Python's
        return "broken", value.raw_data.tag, tuple(value.raw_data.fields)
    if isinstance(value, list):
        keys = [key_of(item, merges=merges, bags=bags) for item in value]
        return "list", tuple(sorted(keys, key=repr) if bags else keys)
    if isinstance(value, dict):
        return "map", tuple((k, key_of(value[k], merges=merges, bags=bags)) for k in sorted(value))
    return _number_key(value, merges)


def _number_key(value: Any, merges: bool) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return type(value).__name__, value
    if isinstance(value, int) or not math.isfinite(value):
        return ("number" if merges else type(value).__name__), str(value)
    rounded = float(f"{value:.12g}")
    if merges and rounded.is_integer():
        return "number", str(int(rounded))
    return ("number" if merges else "float"), str(rounded)


def answer(run: Callable[[], Any], query: MadeQuery) -> Answer:
    """The rows as a multiset, or the kind of failure."""
    try:
        result = run()
        columns = tuple(result.keys())
        rows = [
            tuple(key_of(value, merges=query.merges, bags=query.bags) for value in record.values())
            for record in result
        ]
    except UnsupportedQueryError as error:
        return "refused", error.construct or error.message[:60]
    except QueryError as error:
        return "error", error.code.rpartition(".")[2] or type(error).__name__
    except Exception as error:
        code = getattr(error, "code", None)
        if code is None:  # a fault, not an answer
            return "fault", f"{type(error).__name__}: {str(error)[:300]}"
        return "error", str(code).rpartition(".")[2]
    return "rows", (columns, Counter(rows))


# ------------------------------------------------------------------ running
def examples(seed: int, count: int) -> Iterator[tuple[int, MadeGraph, list[MadeQuery]]]:
    """Graphs with their queries; each is generated from its own seed."""
    for number in range(math.ceil(count / _QUERIES_PER_GRAPH)):
        own = seed * 1_000_003 + number
        rng = random.Random(own)
        graph = made_graph(rng)
        left = min(_QUERIES_PER_GRAPH, count - number * _QUERIES_PER_GRAPH)
        yield own, graph, [Maker(rng).query() for _ in range(left)]


def compare(
    seed: int, count: int, session: Any = None, engines: tuple[str, ...] = ("gpu",)
) -> Findings:
    """Compares the engines' answers with the reference.

    Args:
        seed: Seed of all random choices.
        count: Number of queries.
        session: A session of the Neo4j driver, or None.
        engines: Engines of gpugda to compare; a strategy may follow, as in ``gpu sgsi``.
    """
    findings = Findings()
    for own, graph, queries in examples(seed, count):
        nodes, relationships = graph.tables()
        source = gpugda.graph(nodes=nodes, relationships=relationships or None)
        if session is not None:
            graph.fill(lambda text, parameters: session.run(text, parameters).consume())
        with gpugda.connect(source) as accelerator:
            for query in queries:
                _compare_one(findings, own, graph, query, accelerator, session, engines)
    return findings


def _compare_one(
    findings: Findings,
    own: int,
    graph: MadeGraph,
    query: MadeQuery,
    accelerator: Any,
    session: Any,
    engines: tuple[str, ...],
) -> None:
    given = query.text, query.parameters

    def by(name: str) -> Answer:
        engine, _, strategy = name.partition(" ")
        how = {"engine": engine, "strategy": strategy or None, "timeout": 60}
        return answer(lambda: accelerator.run(*given, **how), query)

    expected = by("reference")
    if _is_left_out(findings, expected):
        return
    if expected[0] == "rows":
        findings.rows += expected[1][1].total()
    others = {engine: by(engine) for engine in engines}
    if session is not None and _is_known(session, query):
        others["Neo4j"] = answer(lambda: _run(session, *given), query)
    for engine, found in others.items():
        if found[0] == "refused":
            findings.refused[found[1]] += 1
            continue
        findings.answered += 1
        findings.errors += found[0] == "error"
        if engine == "Neo4j" and found == ("error", "SyntaxError") and expected[0] == "rows":
            findings.stricter.append(query.text)
        elif {found[0], expected[0]} == {"error", "rows"}:
            # The language does not define which of several conditions is evaluated first, and so
            # whether a failing one is reached.
            code = found[1] if found[0] == "error" else expected[1]
            findings.only_one_fails.append(
                f"seed {own}, {engine}, {found[0]}, {code}: {query.text}"
            )
        elif found != expected and not _are_one_error(query, found, expected):
            findings.differences.append(
                f"seed {own}, {engine}: {query.text}\n  reference: {shown(expected, found)}\n"
                f"  {engine}: {shown(found, expected)}\n  graph: {graph}"
            )


def _are_one_error(query: MadeQuery, found: Answer, expected: Answer) -> bool:
    """True if a parameter has a wrong type, which Neo4j detects before there are rows."""
    codes = (("error", "SyntaxError"), ("error", "TypeError"))
    return "$" in query.text and found != expected and found in codes and expected in codes


def _is_left_out(findings: Findings, expected: Answer) -> bool:
    """True if the reference has no answer in time, or none at all."""
    if expected[0] == "fault" and expected[1].startswith("QueryTimeoutError"):
        findings.late += 1
        return True
    if expected[0] == "refused":
        findings.refused[expected[1]] += 1
        return True
    return False


def _is_known(session: Any, query: MadeQuery) -> bool:
    """True if the server supports the query's version of Cypher."""
    return not query.text.startswith("CYPHER 25") or _version(session) >= 2025


@functools.cache
def _version(session: Any) -> int:
    found = session.run("CALL dbms.components() YIELD versions RETURN versions[0]").single()
    return int(found[0].partition(".")[0])


def _run(session: Any, text: str, parameters: dict[str, Any]) -> Any:
    import neo4j

    result = session.run(neo4j.Query(text, timeout=60), parameters)
    return _Rows(result.keys(), list(result))


@dataclass
class _Rows:
    names: list[str]
    records: list[Any]

    def keys(self) -> list[str]:
        return self.names

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records)


def shown(one: Answer, other: Answer) -> str:
    if one[0] != "rows":
        return f"{one[0]} {one[1]}"
    if other[0] != "rows":
        return f"{one[1][1].total()} rows"
    more = one[1][1] - other[1][1]
    return f"{one[1][1].total()} rows, {more.total()} of its own: {list(more.items())[:4]}"
