"""A number of shortest trails per pair, against all trails, on the host and a device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from every_trail import trails_from
from graphs import make_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError
from gpugda.execute.paths import device_searches, selected_trails
from gpugda.execute.paths.device_searches import DeviceSearches
from gpugda.execute.paths.pair_trails import PairTrails
from gpugda.execute.paths.steps import reversed_direction
from gpugda.execute.paths.trails import adjacency_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.special import path_search, walk_search
from gpugda.query.ast import Direction
from strategies import examples

NODES = 5
NODE = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NODE, NODE), min_size=1, max_size=8)
ARROWS = {"->": Direction.OUTGOING, "<-": Direction.INCOMING, "-": Direction.BOTH}
PAIRS = [(a, b) for a in range(NODES) for b in range(NODES)]


class Always(DeviceSearches):
    """Searches regardless of cost."""

    def shortest_pay(self, *_: Any) -> bool:
        return True


def on_device(context: Any, graph: Any) -> Any:
    run = SimpleNamespace(
        strategy=ExtendStrategy(DeviceGraph(context, graph)),
        deadline=None,
        report_of=lambda _: StrategyReport(),
    )
    return Always(run, None)  # type: ignore[arg-type]


def check(edges: Any, arrow: str, asked: Any, pairs: Any, context: Any = None) -> set[Any]:
    """Asserts the trails of all finished pairs; returns the unfinished ones."""
    bounds, most, by_group = asked
    graph = make_graph([("", {})] * (NODES + 30), [(a, "R", b, {}) for a, b in edges])
    edges = list(
        zip(graph.outgoing.entry_nodes().tolist(), graph.outgoing.neighbours.tolist(), strict=True)
    )
    device = None if context is None else on_device(context, graph)
    trails = PairTrails(bounds, most, by_group, lambda: None, device)
    direction = ARROWS[arrow]
    steps = (
        adjacency_of(graph, direction, None),
        adjacency_of(graph, reversed_direction(direction), None),
    )
    starts, ends = (np.array(each, np.uint32) for each in zip(*pairs, strict=True))
    found: dict[int, list[tuple[int, ...]]] = {}
    levels = trails.of(*steps, starts, ends)
    while True:
        try:
            level = next(levels)
        except StopIteration as end:
            left = set(end.value.tolist())
            break
        np.testing.assert_array_equal(level.ends, ends[level.rows])
        for row, walked in zip(level.rows.tolist(), level.relationships.tolist(), strict=True):
            found.setdefault(row, []).append(tuple(walked))
    for row, (start, end) in enumerate(pairs):
        every = [w for node, w in trails_from(edges, start, arrow, bounds[1]) if node == end]
        every = sorted((w for w in every if len(w) >= bounds[0]), key=len)
        if row in left:
            assert row not in found
        elif by_group:
            lengths = sorted({len(each) for each in every})[:most]
            assert sorted(found.get(row, [])) == sorted(w for w in every if len(w) in lengths)
        else:
            some = found.get(row, [])
            assert sorted(map(len, some)) == [len(each) for each in every[:most]]
            assert len(set(some)) == len(some)
            assert set(some) <= set(every)
    return {pairs[row] for row in left}


BOUNDS = st.sampled_from([(0, None), (1, None), (1, 3), (2, None), (2, 4), (0, 2)])
ASKED = st.tuples(BOUNDS, st.integers(1, 4), st.booleans())
MANY = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@MANY
@given(EDGES, st.sampled_from(list(ARROWS)), ASKED, st.lists(st.sampled_from(PAIRS), min_size=1))
def test_trails_equal_those_of_the_reference(context, edges, arrow, asked, pairs):
    check(edges, arrow, asked, pairs, context)


COMPLETE = [(a, b) for a in range(NODES) for b in range(NODES) if a != b]
PARALLEL = [(0, 1)] * 9 + [(1, 2)] * 9 + [(2, 1)]


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("edges", [COMPLETE, PARALLEL])
@pytest.mark.parametrize("by_group", [False, True])
def test_small_windows_of_walks_give_the_same_trails(context, monkeypatch, edges, by_group):
    """Small windows, and at first fewer walks than are needed for the trails."""
    monkeypatch.setattr(path_search, "_MAX_LONGER", 3)
    monkeypatch.setattr(selected_trails, "_WALKS_PER_TRAIL", 1)
    monkeypatch.setattr(selected_trails, "_MIN_WALKS", 1)
    assert not check(edges, "->", ((1, 4), 7, by_group), [(0, 1), (0, 2), (0, 1)], context)
    assert not check(edges, "-", ((1, 4), 40, by_group), [(1, 1), (0, 2), (2, 0)], context)


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_small_windows_of_searches_give_the_same_trails(context, monkeypatch):
    monkeypatch.setattr(device_searches, "_MAX_SEARCHES", 2)
    monkeypatch.setattr(device_searches, "SEARCHES_A_WORD", 2)
    monkeypatch.setattr(path_search, "_MAX_LONGER", 3)
    assert not check(COMPLETE, "->", ((1, 4), 7, False), PAIRS, context)


def test_without_a_device_all_pairs_are_left():
    assert check([(0, 1)], "->", ((0, None), 1, False), [(0, 1), (1, 1)]) == {(0, 1), (1, 1)}


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_pairs_beyond_the_device_memory_are_left(context, monkeypatch):
    grow = walk_search.WalkSearches.grow

    def full(self, levels, *rest):
        if len(levels) == 3:
            raise MemoryLimitError("full")
        return grow(self, levels, *rest)

    monkeypatch.setattr(walk_search.WalkSearches, "grow", full)
    ring = [(a, (a + 1) % NODES) for a in range(NODES)]
    asked = (1, None), 1, False
    assert check(ring, "->", asked, [(0, 1), (0, 2), (0, 4)], context) == {(0, 4)}


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_pairs_with_enough_trails_are_not_left(context):
    """A pair stays unfinished only if several lengths pass without a trail."""
    two_ways = [(0, 1), (1, 2), (0, 3), (3, 2), (2, 0)]
    assert not check(two_ways, "->", ((1, None), 2, False), [(0, 2)], context)
    assert not check(two_ways, "->", ((1, None), 5, False), [(4, 2), (0, 4)], context)
    assert not check(two_ways, "->", ((1, None), 5, False), [(0, 2)], context)
    longer = [*two_ways, (4, 4), (4, 4), (4, 4)]
    assert check(longer, "->", ((1, None), 5, False), [(0, 2)], context) == {(0, 2)}


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("asked", ["SHORTEST 4", "SHORTEST 2 GROUPS", "ANY 3"])
@pytest.mark.parametrize("where", ["", "WHERE b.k = 5", "WHERE a.k < 3 AND b.k > 6"])
def test_queries_give_the_lengths_of_the_reference(monkeypatch, asked, where):
    monkeypatch.setattr(DeviceSearches, "shortest_pay", Always.shortest_pay)
    ends = np.random.default_rng(7).integers(0, 9, (2, 16))
    relationships = {"source": ends[0], "target": ends[1], "type": ["R"] * 16}
    graph = gpugda.graph({"id": list(range(9)), "k": list(range(9))}, relationships)
    match = f"MATCH p = {asked} (a)-[:R]->+(b) {where}"
    query = f"{match} RETURN a.k, b.k, length(p) AS l, count(*) AS paths ORDER BY a.k, b.k, l"
    with gpugda.connect(graph) as accelerator:
        found = accelerator.run(query, engine="gpu").values()
        assert found
        assert found == accelerator.run(query, engine="reference").values()
