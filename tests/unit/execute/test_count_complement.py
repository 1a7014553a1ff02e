"""Counts under a negation: the difference of two counts, against counting row by row."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.execute.operators import count_complement

pytestmark = pytest.mark.device

NODES = 6
NODE = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NODE, st.sampled_from("RST"), NODE), max_size=24)
QUERIES = (
    "MATCH (a)-[:R]-(b)-[:R]-(c) WHERE NOT (a)-[:R]-(c) AND a <> c RETURN count(*)",
    "MATCH (a)-[:R]-(b)-[:R]-(c) WHERE NOT (a)-[:R]-(c) RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:S]->(c) WHERE NOT (c)-[:R]->(a) RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:S]->(c) WHERE NOT (a)<-[:R]-(c) RETURN count(*) AS n",
    "MATCH (s)<-[:R]-(m)<-[:S]-(c)-[:R]->(t) WHERE NOT (c)-[:R]->(s) AND s <> t RETURN count(*)",
    "MATCH (s:L)<-[:R]-(m)<-[:S]-(c)-[:R|T]->(t) WHERE NOT (c)-[:R]->(s) AND s <> t"
    " RETURN count(*)",
    "MATCH (s)-[:R]->(m)<-[:S]-(c), (t)-[:R]->(c) WHERE NOT (s)-[:R]->(c) AND s <> t"
    " RETURN count(*)",
    "MATCH (a)-[:R]->(b), (c)-[:S]->(d) WHERE NOT (a)-[:T]-(d) AND a <> d RETURN count(*)",
    "MATCH (a)-[:R]->(b) WHERE NOT (a)-[:NONE]->(b) RETURN count(*)",
    "MATCH (a)-[:R]->(b) WITH a, b MATCH (b)-[:S]->(c) WHERE NOT (a)-[:R]->(c) RETURN count(*)",
)


def _accelerator(edges: Any) -> Any:
    nodes = {"id": list(range(NODES)), "labels": [["L"] if i % 2 else [] for i in range(NODES)]}
    columns = {
        "source": [s for s, _, _ in edges],
        "type": [k for _, k, _ in edges],
        "target": [t for _, _, t in edges],
    }
    return gpugda.connect(gpugda.graph(nodes, columns))


@settings(max_examples=max(20, settings().max_examples // 6))
@given(EDGES, st.sampled_from(QUERIES))
def test_complement_counts_equal_the_references(edges: Any, text: str) -> None:
    with pytest.MonkeyPatch.context() as patch, _accelerator(edges) as accelerator:
        patch.setattr(count_complement, "_FEW_RELATIONSHIPS", 0)
        patch.setattr(count_complement, "_FEW_ROWS", 0)
        found = accelerator.run(text, engine="gpu").values()
        assert found == accelerator.run(text, engine="reference").values()


def test_a_complement_is_the_difference_of_two_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are not made."""
    monkeypatch.setattr(count_complement, "_FEW_RELATIONSHIPS", 0)
    monkeypatch.setattr(count_complement, "_FEW_ROWS", 0)
    edges = [(0, "R", 1), (1, "R", 2), (2, "R", 3), (1, "R", 3)]
    with _accelerator(edges) as accelerator:
        shown = str(accelerator.profile(QUERIES[0]))
        assert accelerator.run(QUERIES[0], engine="gpu").values() == [[4]]
    first = next(line for line in shown.splitlines() if "minus second" in line)
    direct = next(line for line in shown.splitlines() if "filter NOT" in line)
    assert "1 row" in first
    assert "row" not in direct


def test_parallel_relationships_are_counted_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_complement, "_FEW_RELATIONSHIPS", 0)
    monkeypatch.setattr(count_complement, "_FEW_ROWS", 0)
    edges = [(0, "R", 1), (1, "R", 2), (0, "R", 2), (2, "R", 0)]
    with _accelerator(edges) as accelerator:
        shown = str(accelerator.profile(QUERIES[0]))
    direct = next(line for line in shown.splitlines() if "filter NOT" in line)
    assert "row" in direct
