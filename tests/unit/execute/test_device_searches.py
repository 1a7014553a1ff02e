"""Searches on the device against all trails, on small random multigraphs with loops, parallels."""

from __future__ import annotations

import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from every_trail import shortest_between, trails_from
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.execute.paths.device_searches import DeviceSearches
from gpugda.execute.paths.reach import Reach
from gpugda.execute.paths.shortest import distances, shortest_paths
from gpugda.execute.paths.steps import reversed_direction
from gpugda.execute.paths.trails import adjacency_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.special import path_search
from gpugda.query.ast import Direction

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NODES = 5
NODE = st.integers(0, NODES - 1)
EDGES = st.lists(st.tuples(NODE, NODE), min_size=1, max_size=8)


class Always(DeviceSearches):
    """Searches on the device regardless of cost."""

    def reach_pays(self, *_: Any) -> bool:
        return True

    def shortest_pay(self, *_: Any) -> bool:
        return True


def searches(context: Any, graph: Any, deadline: float | None = None) -> Any:
    run = SimpleNamespace(
        strategy=ExtendStrategy(DeviceGraph(context, graph)),
        deadline=deadline,
        report_of=lambda _: StrategyReport(),
    )
    return Always(run, None)  # type: ignore[arg-type]


def graph_of(edges: list[tuple[int, int]]) -> tuple[Any, list[tuple[int, int]]]:
    graph = make_graph([("", {})] * NODES, [(a, "R", b, {}) for a, b in edges])
    nodes, neighbours = graph.outgoing.entry_nodes(), graph.outgoing.neighbours
    return graph, list(zip(nodes.tolist(), neighbours.tolist(), strict=True))


def both_ways(graph: Any, direction: Direction) -> tuple[Any, Any]:
    reverse = reversed_direction(direction)
    return adjacency_of(graph, direction, None), adjacency_of(graph, reverse, None)


def found_paths(context: Any, graph: Any, direction: Direction, pairs: Any, **asked: Any) -> Any:
    starts, ends = (np.array(each, np.uint32) for each in zip(*pairs, strict=True))
    levels = shortest_paths(
        *both_ways(graph, direction),
        starts,
        ends,
        asked["maximum"],
        lambda: None,
        every=asked["every"],
        device=searches(context, graph),
    )
    found = Counter[Any]()
    for level in levels:
        assert level.ends.tolist() == ends[level.rows].tolist()
        walked = map(tuple, level.relationships.tolist())
        found.update(zip(level.rows.tolist(), walked, strict=True))
    return found


@given(
    edges=EDGES,
    direction=st.sampled_from(list(Direction)),
    maximum=st.none() | st.integers(0, 4),
    pairs=st.lists(st.tuples(NODE, NODE).filter(lambda each: each[0] != each[1]), min_size=1),
    most=st.sampled_from([1, 1 << 20]),
)
def test_shortest_paths_on_the_device_equal_the_hosts(
    context: Any, edges: Any, direction: Direction, maximum: Any, pairs: Any, most: int
) -> None:
    graph, known = graph_of(edges)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(path_search, "_MAX_LONGER", most)
        patch.setattr(path_search, "_LOOKS", most)
        asked = {"maximum": maximum}
        every = found_paths(context, graph, direction, pairs, every=True, **asked)
        one = found_paths(context, graph, direction, pairs, every=False, **asked)
        given = *both_ways(graph, direction), *np.array(pairs, np.uint32).T, maximum, lambda: None
        lengths = distances(*given, searches(context, graph))
        assert lengths.tolist() == distances(*given).tolist()
    wanted = Counter(
        (row, walked)
        for row, (start, end) in enumerate(pairs)
        for walked in shortest_between(known, start, end, direction.value, maximum)
    )
    assert every == wanted
    assert Counter(row for row, _ in one) == Counter({row for row, _ in wanted})
    assert not one - wanted
    known_lengths = {row: len(walked) for row, walked in wanted}
    assert lengths.tolist() == [known_lengths.get(row, 0) for row in range(len(pairs))]


@given(
    edges=EDGES,
    direction=st.sampled_from(list(Direction)),
    maximum=st.none() | st.integers(0, 5),
    zero=st.booleans(),
)
def test_reached_nodes_on_the_device_equal_the_hosts(
    context: Any, edges: Any, direction: Direction, maximum: Any, zero: bool
) -> None:
    graph, known = graph_of(edges)
    steps, back = both_ways(graph, direction)
    search = Reach(
        steps,
        lambda: back,
        maximum,
        lambda: None,
        undirected=direction is Direction.BOTH,
        with_start=zero,
        device=searches(context, graph),
    )
    made = search.ends(np.arange(NODES, dtype=np.uint32))
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


def test_more_sources_than_bits_of_a_word_are_searched(context: Any) -> None:
    edges = [(node, (node * 7 + 3) % 90) for node in range(90)]
    graph = make_graph([("", {})] * 90, [(a, "R", b, {}) for a, b in edges])
    pairs = [(a, b) for a in range(70) for b in range(5, 90, 7) if a != b]
    asked = {"maximum": None, "every": True}
    found = found_paths(context, graph, Direction.OUTGOING, pairs, **asked)
    walks: dict[tuple[int, int], int] = {}
    for start in range(70):
        node, length = start, 0
        while (start, node) not in walks:
            walks[start, node] = length
            node, length = (node * 7 + 3) % 90, length + 1
    wanted = {row: walks[pair] for row, pair in enumerate(pairs) if pair in walks}
    assert {row: len(walked) for row, walked in found} == wanted


def test_levels_that_do_not_fit_are_left_to_the_host(context: Any, monkeypatch: Any) -> None:
    graph, _ = graph_of([(0, 1), (1, 2), (2, 3), (3, 4), (2, 3)])
    grow, grown = path_search.PathSearches._grow, list[int]()

    def grow_twice(search: Any, levels: Any, *rest: Any) -> bool:
        grown.append(0)
        if len(grown) % 3 == 0:
            raise MemoryLimitError("no room")
        return grow(search, levels, *rest)

    monkeypatch.setattr(path_search.PathSearches, "_grow", grow_twice)
    asked = {"maximum": None, "every": True}
    found = found_paths(context, graph, Direction.OUTGOING, [(0, 4), (0, 2), (1, 3)], **asked)
    assert Counter((row, len(walked)) for row, walked in found.elements()) == {
        (0, 4): 2,
        (1, 2): 1,
        (2, 2): 2,
    }
    pairs = np.array([(0, 4), (0, 2), (1, 3)], np.uint32).T
    given = *both_ways(graph, Direction.OUTGOING), *pairs, None, lambda: None
    assert distances(*given, searches(context, graph)).tolist() == [4, 2, 2]


def test_a_search_ends_at_its_deadline(context: Any) -> None:
    graph, _ = graph_of([(0, 1), (1, 2)])
    steps = adjacency_of(graph, Direction.OUTGOING, None)
    late = searches(context, graph, deadline=time.monotonic() - 1)
    with pytest.raises(QueryTimeoutError):
        list(late.reached(np.zeros(1, np.uint32), steps, None, with_start=True))


@pytest.mark.parametrize("ends", ["(b)", "(b:T)"])
def test_the_summary_names_searches_on_the_device(ends: str, monkeypatch: Any) -> None:
    """End to end: types, directions, and conditions on nodes and relationships hold."""
    random = np.random.default_rng(4)
    count, size = 3000, 60_000
    source = gpugda.graph(
        nodes={
            "id": range(count),
            "labels": [["N", "T"] if node % 3 else ["N"] for node in range(count)],
            "x": (np.arange(count) % 50).tolist(),
        },
        relationships={
            "source": random.integers(0, count, size),
            "target": random.integers(0, count, size),
            "type": np.where(random.random(size) < 0.5, "R", "S").tolist(),
            "w": random.integers(0, 10, size).tolist(),
        },
    )
    text = (
        f"MATCH (a:N), {ends} WHERE a.id < 40 AND b.id < 80 AND a <> b"
        " MATCH p = allShortestPaths((a)-[rs:R*..9]->(b))"
        " WHERE all(r IN rs WHERE r.w > 2) AND none(n IN nodes(p) WHERE n.x = 49)"
        " RETURN a.id, b.id, length(p), count(*) ORDER BY a.id, b.id"
    )
    with gpugda.connect(source) as accelerator:
        found = accelerator.run(text, engine="gpu").values()
        assert "searched from 4" in str(accelerator.profile(text))
        monkeypatch.setattr(DeviceSearches, "shortest_pay", lambda *_: False)
        assert found == accelerator.run(text, engine="gpu").values() != []
