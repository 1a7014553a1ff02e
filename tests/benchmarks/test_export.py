"""Reading a Neo4j of 1 million nodes and 5 million relationships into a ready data graph.

As a program: python tests/benchmarks/test_export.py --uri bolt://localhost:7687 [--small] [--json]
makes the graph if the database is empty, refuses one that holds anything else, and prints rates,
also of reading row by row in the same run, as a measure of what the machine does otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import pytest

LABELS = (
    (":Person", 0.4),
    (":Person:Customer", 0.2),
    (":Company", 0.2),
    (":Account", 0.15),
    ("", 0.05),
)
TYPES = (("KNOWS", 0.5), ("LIKES", 0.2), ("FOLLOWS", 0.15), ("PAYS", 0.1), ("OWNS", 0.05))
ROWS = 50_000
ROW_BY_ROW = 200_000
MIN_TIMES_FASTER = 10.0


@dataclass(frozen=True)
class Size:
    nodes: int
    relationships: int

    @property
    def hub(self) -> int:
        """Number of additional relationships from the first node, besides the random ones."""
        return self.relationships // 20


LARGE, SMALL = Size(1_000_000, 5_000_000), Size(20_000, 100_000)


# ------------------------------------------------------------------ the graph in the database
def ends(size: Size):
    """Source and target nodes by R-MAT, with loops, parallel relationships and a hub."""
    random = np.random.default_rng(1)
    sources, targets = (np.zeros(size.relationships, dtype=np.int64) for _ in range(2))
    for _ in range(int(np.ceil(np.log2(size.nodes)))):
        draw = random.random(size.relationships)
        sources = 2 * sources + (draw >= 0.76)
        targets = 2 * targets + (((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95))
    sources[: size.hub] = 0
    order = random.permutation(size.relationships)
    return sources[order] % size.nodes, targets[order] % size.nodes, random


def counts(run) -> tuple[int, int]:
    nodes = run("MATCH (n) RETURN count(n) AS c")[0]["c"]
    return nodes, run("MATCH ()-[r]->() RETURN count(r) AS c")[0]["c"]


def prepare(run, size: Size) -> None:
    """Makes the graph in an empty database; RuntimeError if it contains another graph."""
    found = counts(run)
    if found == (size.nodes, size.relationships):
        return
    if found != (0, 0):
        raise RuntimeError(f"the database holds {found[0]} nodes: give an empty one")
    sources, targets, random = ends(size)
    labels = random.choice(len(LABELS), size.nodes, p=[share for _, share in LABELS])
    types = random.choice(len(TYPES), size.relationships, p=[share for _, share in TYPES])
    for first in range(0, size.nodes, ROWS):
        numbers = np.arange(first, min(first + ROWS, size.nodes))
        rows = np.stack([numbers, labels[numbers]], axis=1).tolist()
        made = [
            f"({name} {{number: row[0], name: 'n' + row[0], score: row[0] / 7.0}})"
            for name, _ in LABELS
        ]
        run(f"UNWIND $rows AS row {_one_of(made)}", rows=rows)
    (lowest,) = run("MATCH (n) RETURN min(id(n)) AS id")
    for first in range(0, size.relationships, ROWS):
        part = slice(first, first + ROWS)
        numbers = np.arange(first, min(first + ROWS, size.relationships))
        columns = [sources[part] + lowest["id"], targets[part] + lowest["id"], types[part], numbers]
        made = [f"(a)-[:{name} {{since: row[3]}}]->(b)" for name, _ in TYPES]
        run(
            "UNWIND $rows AS row MATCH (a) WHERE id(a) = row[0] MATCH (b) WHERE id(b) = row[1] "
            + _one_of(made, "row[2]"),
            rows=np.stack(columns, axis=1).tolist(),
        )


def _one_of(made: list[str], code: str = "row[1]") -> str:
    return " ".join(
        f"FOREACH (_ IN CASE {code} WHEN {place} THEN [1] ELSE [] END | CREATE {each})"
        for place, each in enumerate(made)
    )


# ------------------------------------------------------------------ reading it
def measure(uri: str, size: Size, repeats: int = 3) -> dict:
    """Best of some runs; RuntimeError if a count is wrong."""
    import neo4j
    from gpugda_adapters.neo4j_bolt import BoltSource

    with neo4j.GraphDatabase.driver(uri, notifications_min_severity="OFF") as driver:

        def run(text: str, **parameters):
            with driver.session() as session:
                return list(session.run(text, parameters))

        prepare(run, size)
        begin = time.perf_counter()
        rows = run(
            f"MATCH (n)-[r]->(m) RETURN id(n), id(m), type(r), id(r) LIMIT {min(ROW_BY_ROW, size.relationships)}"
        )
        row_rate = len(rows) / (time.perf_counter() - begin)
        del rows
    with closing(BoltSource(uri, environment=os.environ)) as source:
        runs = [_read(source, size) for _ in range(repeats)]
    best = {key: min(each[key] for each in runs) for key in runs[0]}
    return {
        "nodes_per_second": round(size.nodes / best["nodes"]),
        "relationships_per_second": round(size.relationships / best["relationships"]),
        "ready_seconds": round(best["ready"], 2),
        "ready_relationships_per_second": round(size.relationships / best["ready"]),
        "property_values_per_second": round(3 * size.nodes / best["properties"]),
        "row_by_row_per_second": round(row_rate),
        "times_row_by_row": round(size.relationships / best["ready"] / row_rate, 1),
    }


def _read(source, size: Size) -> dict[str, float]:
    from gpugda.data.build import build_data_graph
    from gpugda.ports import SilentProgress

    begin = time.perf_counter()
    with source.read(SilentProgress()) as batches:
        nodes = sum(batch.count for batch in batches.nodes)
        middle = time.perf_counter()
        relationships = sum(batch.count for batch in batches.relationships)
    end = time.perf_counter()
    with source.read(SilentProgress()) as batches:
        graph = build_data_graph(batches)
    ready = time.perf_counter()
    ids = graph.external_ids.nodes
    keys = ["number", "name", "score"]
    columns = source.read_properties(keys, ids, source.probe(), of_nodes=True)
    read = time.perf_counter()
    found = (nodes, relationships, graph.node_count, graph.relationship_count)
    if found != (size.nodes, size.relationships) * 2 or len(columns["number"]) != size.nodes:
        raise RuntimeError(f"{found} in place of {size}")
    if not np.array_equal(np.sort(columns["number"].values), np.arange(size.nodes)):
        raise RuntimeError("the property has other values")
    return {
        "nodes": middle - begin,
        "relationships": end - middle,
        "ready": ready - end,
        "properties": read - ready,
    }


@pytest.mark.perf
@pytest.mark.slow
def test_a_million_relationships_are_read_in_a_second():
    uri = os.environ.get("GPUGDA_BENCH_URI")
    if not uri:
        pytest.skip("GPUGDA_BENCH_URI names no server with an empty database")
    figures = measure(uri, SMALL if os.environ.get("GPUGDA_BENCH_SMALL") else LARGE)
    print(json.dumps(figures, indent=1))
    assert figures["times_row_by_row"] >= MIN_TIMES_FASTER


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--uri", required=True)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = measure(arguments.uri, SMALL if arguments.small else LARGE)
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' '):32s} {value:>14,}")


if __name__ == "__main__":
    main()
