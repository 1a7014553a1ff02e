"""Nodes reached by trails, against all trails one by one."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from every_trail import trails_from
from graphs import make_graph
from hypothesis import example, given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.execute import entry_windows
from gpugda.execute.paths import compact, frontier
from gpugda.execute.paths.reach import Reach
from gpugda.execute.paths.steps import reversed_direction
from gpugda.execute.paths.trails import adjacency_of
from gpugda.query.ast import Direction
from strategies import examples

NODES = 6
NODE = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NODE, NODE), max_size=9)
BOUNDS = st.none() | st.integers(0, 5)


@settings(max_examples=examples(150))
@given(
    EDGES,
    st.sampled_from(list(Direction)),
    BOUNDS,
    st.booleans(),
    st.sampled_from([1, 1 << 20]),
    st.sampled_from([0, 4]),
)
@example([(0, 1), (1, 2), (2, 3), (3, 1)], Direction.BOTH, None, False, 1, 4)
@example([(0, 1), (0, 1)], Direction.BOTH, 2, False, 1, 4)
@example([(0, 1), (1, 1)], Direction.BOTH, None, False, 1, 0)
def test_reached_nodes_are_those_of_a_search_per_start(
    edges: Any, direction: Direction, maximum: Any, zero: bool, size: int, many: int
) -> None:
    graph = make_graph([("", {})] * NODES, [(a, "R", b, {}) for a, b in edges])
    nodes, neighbours = graph.outgoing.entry_nodes(), graph.outgoing.neighbours
    known = list(zip(nodes.tolist(), neighbours.tolist(), strict=True))
    starts = np.arange(NODES, dtype=np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontier, "_MAX_DEPTHS", size)
        patch.setattr(compact, "_MIN_SPARSITY", many)
        patch.setattr(entry_windows, "_MAX_ENTRIES", size)
        search = Reach(
            adjacency_of(graph, direction, None),
            lambda: adjacency_of(graph, reversed_direction(direction), None),
            maximum,
            lambda: None,
            undirected=direction is Direction.BOTH,
            with_start=zero,
        )
        made = search.ends(starts)
        found = Counter(
            pair for rows, ends in made for pair in zip(rows.tolist(), ends.tolist(), strict=True)
        )
        pairs = [(a, b) for a in range(NODES) for b in range(NODES)]
        joined = search.joined(*np.array(pairs, np.uint32).T)
    wanted = {
        (start, end)
        for start in range(NODES)
        for end, walked in trails_from(known, start, direction.value, maximum)
        if walked or zero
    }
    assert found == Counter(wanted)
    assert {pair for pair, is_joined in zip(pairs, joined, strict=True) if is_joined} == wanted


def _accelerator() -> Any:
    """A chain into a dense part: too many trails to walk."""
    count = 24
    edges = [(0, 1), (1, 2)] + [(a, b) for a in range(2, count) for b in range(2, count) if a != b]
    columns = {
        "source": [str(a) for a, _ in edges],
        "target": [str(b) for _, b in edges],
        "type": ["R"] * len(edges),
    }
    nodes = {"id": [str(i) for i in range(count)], "k": list(range(count))}
    return gpugda.connect(gpugda.graph(nodes=nodes, relationships=columns))


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("MATCH (a {k: 0})-[*]->(b) RETURN count(DISTINCT b)", [[23]]),
        ("MATCH (a {k: 0})-[*]-(b) WITH DISTINCT b RETURN count(*)", [[23]]),
        ("MATCH (a {k: 2})-[*]-(b) WITH DISTINCT b RETURN count(*)", [[24]]),
        ("MATCH (a {k: 0})-[*0..]-(b) RETURN count(DISTINCT b), min(b.k), max(b.k)", [[24, 0, 23]]),
        ("MATCH (a {k: 0})-[*..3]->(b) RETURN DISTINCT b.k > 2 AS far", [[False], [True]]),
        ("MATCH (a), (b {k: 20}) WHERE EXISTS { (a)-[*]->(b) } RETURN count(*)", [[24]]),
        ("MATCH (a), (b {k: 1}) WHERE (a)-[*]->(b) RETURN a.k", [[0]]),
        ("MATCH (a {k: 0}) OPTIONAL MATCH (a)-[*]->(b {k: 5}) RETURN DISTINCT b.k", [[5]]),
        ("MATCH (a {k: 0})-[*]->(b) MATCH (b)-[*]->(c {k: 1}) RETURN DISTINCT c.k", []),
    ],
)
def test_queries_that_need_each_end_once_search_nodes(query: str, rows: list[list[Any]]) -> None:
    with _accelerator() as accelerator:
        found = accelerator.run(query, engine="gpu", timeout=60)
        assert sorted(list(each.values()) for each in found) == rows


def test_queries_that_count_paths_walk_them() -> None:
    with _accelerator() as accelerator:
        found = accelerator.run("MATCH (a {k: 0})-[*..4]->(b) RETURN count(*)", engine="gpu")
        assert [list(each.values()) for each in found] == [[1 + 1 + 21 + 21 * 21]]
        pair = "MATCH (a {k: 0})-[r*..3]->(b) WITH DISTINCT r, b RETURN count(*)"
        found = accelerator.run(pair, engine="gpu")
        assert [list(each.values()) for each in found] == [[1 + 1 + 21]]
