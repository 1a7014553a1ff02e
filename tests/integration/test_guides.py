"""Queries in the style of Neo4j's guides, on their graphs: the device's rows equal Neo4j's.

The queries of `tests/guides` are our own texts: they read, and call no procedure. Where a LIMIT
drops rows, ORDER BY determines which.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from guide_graphs import GRAPHS, Graph
from language_runs import key_of
from neo4j_servers import Server

import gpugda
from gpugda.errors import UnsupportedQueryError

GUIDES = Path(__file__).parents[1] / "guides"
MIN_SHARE = 0.9
"""Minimum share of queries that the device answers; a wrong answer is never allowed."""


@dataclass
class Tally:
    """Results of a guide's queries."""

    asked: int = 0
    same: int = 0
    rows: int = 0
    refused: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)


def queries_of(name: str) -> list[str]:
    """The texts of a guide, separated by semicolons."""
    text = (GUIDES / f"{name}.cypher").read_text("utf-8")
    plain = re.sub(r"^//.*\n", "", text, flags=re.MULTILINE)
    return [part.strip() for part in re.split(r";\s*(?:\n|$)", plain) if part.strip()]


def identified(value: Any) -> Any:
    """A hashable form: entities by their ids; lists as bags, as their order is undefined."""
    if hasattr(value, "element_id") and not hasattr(value, "relationships"):
        return "entity", value.element_id
    if hasattr(value, "relationships") and hasattr(value, "nodes"):
        return "path", *map(identified, (*value.nodes, *value.relationships))
    if isinstance(value, list):
        return "list", tuple(sorted(map(identified, value), key=repr))
    if isinstance(value, dict):
        return "map", tuple((key, identified(value[key])) for key in sorted(value))
    return key_of(value, merges=False, bags=False)


def answer(run: Callable[[], Any]) -> tuple[list[str], list[Any]]:
    """Columns and rows."""
    result = run()
    return list(result.keys()), [tuple(map(identified, r.values())) for r in result]


def compare(accelerator: Any, text: str, tally: Tally) -> None:
    """Runs a query on the device and on Neo4j."""
    tally.asked += 1
    columns, rows = answer(lambda: accelerator.run(text, engine="native"))
    try:
        found = answer(lambda: accelerator.run(text, engine="gpu"))
    except UnsupportedQueryError as error:
        tally.refused.append(f"{text}: {error.message}")
        return
    tally.rows += len(rows)
    in_order = "ORDER BY" in text.rpartition("RETURN")[2]
    same = found[1] == rows if in_order else Counter(found[1]) == Counter(rows)
    if found[0] == columns and same:
        tally.same += 1
    else:
        tally.different.append(f"{text}\n  Neo4j: {rows[:3]}\n  device: {found[1][:3]}")


def load(server: Server, graph: Graph | list[str]) -> None:
    """Fills an empty database."""
    server.wipe()
    if isinstance(graph, Graph):
        graph.write(server.run)
        return
    for statement in graph:
        server.run(statement)


def test_every_guide_has_its_graph() -> None:
    assert {path.stem for path in GUIDES.glob("*.cypher")} == set(GRAPHS)
    assert sum(len(queries_of(name)) for name in GRAPHS) > 200


@pytest.mark.slow  # loads up to 60,000 nodes and 160,000 relationships
@pytest.mark.parametrize("name", GRAPHS)
def test_queries_of_a_guide_equal_neo4js(name: str, server: Server, shared_data: Path) -> None:
    load(server, GRAPHS[name](shared_data))
    tally = Tally()
    with gpugda.connect(server.uri, auth=server.auth) as accelerator:
        for text in queries_of(name):
            compare(accelerator, text, tally)
    print(f"{name}: {tally.same} of {tally.asked} queries, {tally.rows} rows")
    assert not tally.different, "\n".join(tally.different)
    assert tally.same >= MIN_SHARE * tally.asked, "\n".join(tally.refused)
    assert tally.rows > tally.asked
