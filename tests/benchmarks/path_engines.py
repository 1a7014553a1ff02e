"""Engines for path queries on wiki-Vote, with the same marked nodes on each."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from benchmarks.peer_graphs import GRAPHS

import gpugda

__all__ = ["Ask", "engines", "tables"]

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a query's text and returns its rows."""
Columns = dict[str, list[Any]]
MARKS = {"f": 100, "t": 100, "s": 1000}
"""Numbers of nodes marked by a property: starts and ends of pairs, and starts of walks."""
_BATCH = 10_000


def tables() -> tuple[Columns, Columns] | None:
    """Columns of nodes and relationships; None if the graph's file does not exist."""
    graph = GRAPHS["wiki-Vote"][1]()
    if graph is None:
        return None
    count = len(graph.label_set_of)
    random = np.random.default_rng(1)
    nodes: Columns = {"id": list(range(count))}
    for mark, size in MARKS.items():
        flags = np.zeros(count, dtype=bool)
        flags[random.choice(count, size, replace=False)] = True
        nodes[mark] = flags.tolist()
    return nodes, {"source": graph.source.tolist(), "target": graph.target.tolist()}


@contextmanager
def engines(nodes: Columns, ends: Columns) -> Iterator[dict[str, Ask]]:
    """The available engines: gpugda, Ladybug if installed, Neo4j if NEO4J has its address."""
    found: dict[str, Ask] = {"gpugda": _gpugda(nodes, ends)}
    without = os.environ.get("WITHOUT", "").split(",")
    if importlib.util.find_spec("ladybug") is not None and "ladybug" not in without:
        found["Ladybug"] = _ladybug(nodes, ends)
    if "NEO4J" not in os.environ:
        yield found
        return
    import neo4j

    quiet = {"auth": None, "notifications_min_severity": "OFF"}
    with neo4j.GraphDatabase.driver(os.environ["NEO4J"], **quiet) as driver:
        found["Neo4j"] = _neo4j(driver, nodes, ends)
        yield found


def _gpugda(nodes: Columns, ends: Columns) -> Ask:
    source = gpugda.graph(
        nodes={**nodes, "labels": [["N"]] * len(nodes["id"])},
        relationships={**ends, "type": ["R"] * len(ends["source"])},
    )
    device = os.environ.get("DEVICE")
    accelerator = gpugda.connect(source, **({"device": device} if device else {}))
    accelerator.run("MATCH (:N)-->(:N) RETURN count(*)", engine="gpu").values()
    print(accelerator.status()["device"])
    return lambda text: [tuple(row.values()) for row in accelerator.run(text, engine="gpu")]


def _ladybug(nodes: Columns, ends: Columns) -> Ask:
    import ladybug
    import pyarrow as pa

    connection = ladybug.Connection(ladybug.Database(buffer_pool_size=1 << 32))
    marks = ", ".join(f"{mark} BOOL" for mark in MARKS)
    connection.execute(f"CREATE NODE TABLE N(id INT64, {marks}, PRIMARY KEY(id))")
    connection.execute("COPY N FROM $rows", {"rows": pa.table(nodes)})
    connection.execute("CREATE REL TABLE R(FROM N TO N)")
    connection.execute("COPY R FROM $rows", {"rows": pa.table(ends)})
    return lambda text: [tuple(row) for row in connection.execute(text).get_all()]


def _neo4j(driver: Any, nodes: Columns, ends: Columns) -> Ask:
    """Needs a server whose database is empty or was filled by this benchmark."""

    def ask(text: str, **parameters: Any) -> list[tuple[Any, ...]]:
        with driver.session() as session:
            return [tuple(row.values()) for row in session.run(text, **parameters)]

    ((there,),) = ask("MATCH (n) RETURN count(*)")
    if there == 0:
        _fill(ask, nodes, ends)
    ((found,),) = ask("MATCH (:N)-[r:R]->(:N) RETURN count(*)")
    assert found == len(ends["source"]), "the database has another graph"
    return ask


def _fill(ask: Callable[..., Any], nodes: Columns, ends: Columns) -> None:
    ask("CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE")
    rows = [dict(zip(nodes, row, strict=True)) for row in zip(*nodes.values(), strict=True)]
    ask("UNWIND $rows AS row CREATE (n:N) SET n = row", rows=rows)
    pairs = list(zip(ends["source"], ends["target"], strict=True))
    for first in range(0, len(pairs), _BATCH):
        part = pairs[first : first + _BATCH]
        ask(
            "UNWIND $pairs AS pair MATCH (a:N {id: pair[0]}), (b:N {id: pair[1]})"
            " CREATE (a)-[:R]->(b)",
            pairs=part,
        )
