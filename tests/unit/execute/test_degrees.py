"""Lookup of relationships between bound nodes, against counting them one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.execute import degrees as module
from gpugda.execute.degrees import degrees, degrees_of_all_nodes, relationship_counts
from gpugda.expressions.label_columns import nodes_with_labels
from gpugda.query.ast import Direction
from strategies import examples

NODES = 4
NODE = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NODE, st.sampled_from("RST"), NODE), max_size=14)


def _count(edges: Any, a: int, b: int | None, kinds: str, direction: Direction) -> int:
    forwards = sum(s == a and b in (t, None) and k in kinds for s, k, t in edges)
    backwards = sum(t == a and b in (s, None) and k in kinds for s, k, t in edges)
    loops = sum(s == t == a and b in (a, None) and k in kinds for s, k, t in edges)
    if direction is Direction.OUTGOING:
        return forwards
    return backwards if direction is Direction.INCOMING else forwards + backwards - loops


@settings(max_examples=examples(200))
@given(EDGES, st.sampled_from([None, "R", "S", "RT", ""]), st.sampled_from(list(Direction)))
def test_relationship_counts_equal_those_of_the_edges(
    edges: Any, kinds: Any, direction: Direction
) -> None:
    graph = make_graph([("", {})] * NODES, [(s, k, t, {}) for s, k, t in edges])
    ids = None
    if kinds is not None:
        found = [graph.types.get(kind) for kind in kinds]
        ids = tuple(sorted(each for each in found if each is not None))
    pairs = [(a, b) for a in range(NODES) for b in range(NODES)]
    sources, targets = (np.array(each, np.uint32) for each in zip(*pairs, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", 3)
        counts = relationship_counts(graph, sources, targets, ids, direction)
    every = "RST" if kinds is None else kinds
    assert counts.tolist() == [_count(edges, a, b, every, direction) for a, b in pairs]
    nodes = np.arange(NODES, dtype=np.uint32)
    of_nodes = degrees(graph, nodes, ids, direction)
    assert of_nodes.tolist() == [_count(edges, a, None, every, direction) for a in range(NODES)]
    if direction is not Direction.BOTH and edges:
        assert degrees_of_all_nodes(graph, ids, direction, None).tolist() == of_nodes.tolist()


@settings(max_examples=examples(200))
@given(EDGES, st.sampled_from(list(Direction)), st.sets(NODE))
def test_relationship_counts_to_some_nodes_equal_those_of_the_edges(
    edges: Any, direction: Direction, others: Any
) -> None:
    graph = make_graph([("", {})] * NODES, [(s, k, t, {}) for s, k, t in edges])
    fitting = np.isin(np.arange(NODES), sorted(others))
    nodes = np.array([*range(NODES), 0, 1, 0], np.uint32)
    ids = tuple(sorted(i for i in map(graph.types.get, "RT") if i is not None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", 3)
        patch.setattr(module, "_ENTRIES", 2)
        found = degrees(graph, nodes, ids, direction, fitting)
        together = None
        if direction is not Direction.BOTH and edges:
            together = degrees_of_all_nodes(graph, ids, direction, fitting).tolist()
    # Seen from a node, the other end counts: for a loop, the node itself.
    expected = [sum(_count(edges, a, b, "RT", direction) for b in others) for a in nodes.tolist()]
    assert found.tolist() == expected
    assert together in (None, expected[:NODES])


QUERIES = {
    "MATCH (a), (b) WHERE {} RETURN a.id, b.id": "(a){}(b)",
    "MATCH (a), (b) WHERE NOT {} RETURN a.id, b.id": "(a){}(b)",
    "MATCH (a), (b) RETURN a.id, b.id, COUNT {{ {} }}": "(a){}(b)",
    "MATCH (a), (b) OPTIONAL MATCH {} RETURN a.id, b.id, count(*)": "(a){}(b)",
    "MATCH (a), (b) WITH a, b LIMIT 100 MATCH {} RETURN a.id, b.id": "(a){}(b)",
    "MATCH (a) WHERE {} RETURN a.id": "(a){}()",
    "MATCH (a) RETURN a.id, COUNT {{ {} }}": "(a){}(b)",
    "MATCH (a), (b) RETURN a.id, b.id, EXISTS {{ {} WHERE a.k < b.k }}": "(a){}(b:L)",
    "MATCH (a) RETURN a.id, COUNT {{ {} }} AS n": "(a:L){}(a)",
    "MATCH (a) RETURN a.id, COUNT {{ {} }} AS m": "(a){}(:L)",
    "MATCH (a) OPTIONAL MATCH {} RETURN a.id, count(*)": "(a){}(b:!L)",
    "MATCH (a) WHERE NOT {} RETURN a.id AS i": "(:L){}(a)",
}
ARROWS = ["-->", "<--", "--", "-[:R]->", "<-[:R|S]-", "-[:T]-", "-[:NONE]-", "-[x:R]->"]


@pytest.fixture(scope="module")
def accelerator() -> Any:
    edges = [(0, "R", 1), (0, "R", 1), (1, "S", 0), (1, "R", 2), (2, "T", 2), (2, "R", 2)]
    nodes = {"id": list("0123"), "labels": [["L"], [], ["L"], []], "k": [1, 2, 3, None]}
    relationships = {
        "source": [str(s) for s, _, _ in edges],
        "type": [k for _, k, _ in edges],
        "target": [str(t) for _, _, t in edges],
    }
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as made:
        yield made


@pytest.mark.parametrize("arrow", ARROWS)
@pytest.mark.parametrize("query", QUERIES)
def test_degree_look_ups_equal_joins(
    accelerator: Any, query: str, arrow: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lookups equal joins wherever a pattern may occur."""
    if "WHERE {}" in query or "NOT {}" in query:
        arrow = arrow.replace("x", "")
    text = query.format(QUERIES[query].format(arrow))
    looked_up = sorted(tuple(each.values()) for each in accelerator.run(text, engine="gpu"))
    monkeypatch.setattr("gpugda.execute.lower.is_degree_lookup", lambda tree, needed: False)
    joined = accelerator.run(text + "  ", engine="gpu")
    assert looked_up == sorted(tuple(each.values()) for each in joined)


def test_the_plan_shows_degree_look_ups(accelerator: Any) -> None:
    text = "MATCH (a), (b) OPTIONAL MATCH (a)-[:R]->(b) RETURN count(*)"
    assert "looked up" in str(accelerator.explain(text))


def test_small_batches_of_searches_are_looked_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which nodes have a label is found for many rows at once, not per window of a search."""
    calls = []

    def counted(*arguments: Any) -> Any:
        calls.append(arguments)
        return nodes_with_labels(*arguments)

    monkeypatch.setattr("gpugda.execute.operators.degree_lookup.nodes_with_labels", counted)
    ring, others = np.arange(2_000), 100_000  # with fewer, all nodes' degrees would be counted
    labels = [["P"]] * len(ring) + [["C"]] + [[]] * (others - len(ring) - 1)
    knows = {"source": ring, "target": (ring + 1) % len(ring), "type": ["K"] * len(ring)}
    suspects = {"source": [0, 1, 2], "target": [len(ring)] * 3, "type": ["S"] * 3}
    text = (
        "MATCH (p:P)-[:K*1..2]-(f:P)-[:S]->(:C) WHERE NOT EXISTS { (p)-[:S]->(:C) } AND p <> f "
        "RETURN p.id AS p, count(DISTINCT f) AS n ORDER BY n DESC, p LIMIT 10"
    )
    nodes = {"id": np.arange(others), "labels": labels}
    with gpugda.connect(gpugda.graph(nodes, [knows, suspects])) as accelerator:
        assert "looked up" in str(accelerator.explain(text))
        found = accelerator.run(text, engine="gpu").values()
    assert found == [[3, 2], [1999, 2], [4, 1], [1998, 1]]
    assert 1 <= len(calls) <= 3
