"""Shortest paths against all trails, on small random multigraphs with loops and parallels."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from every_trail import shortest_between, trails_from
from graphs import make_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from gpugda.execute import entry_windows
from gpugda.execute.paths import compact, frontier
from gpugda.execute.paths import paths_by_length as by_length
from gpugda.execute.paths.paths_by_length import distances_to, paths_by_length
from gpugda.execute.paths.shortest import distances, shortest_paths
from gpugda.execute.paths.steps import reversed_direction
from gpugda.execute.paths.trails import Level, adjacency_of
from gpugda.query.ast import Direction
from strategies import examples

NODES = 5
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=7)
DIRECTIONS = st.sampled_from(list(Direction))


def _graph(edges: list[tuple[int, int]]) -> tuple[Any, list[tuple[int, int]]]:
    graph = make_graph([("", {})] * NODES, [(a, "R", b, {}) for a, b in edges])
    nodes, neighbours = graph.outgoing.entry_nodes(), graph.outgoing.neighbours
    return graph, list(zip(nodes.tolist(), neighbours.tolist(), strict=True))


def _nothing() -> None:
    pass


def _pairs() -> tuple[np.ndarray, np.ndarray]:
    pairs = [(a, b) for a in range(NODES) for b in range(NODES) if a != b]
    starts, ends = zip(*pairs, strict=True)
    return np.array(starts, np.uint32), np.array(ends, np.uint32)


def _steps(graph: Any, direction: Direction) -> tuple[Any, Any]:
    return adjacency_of(graph, direction, None), adjacency_of(
        graph, reversed_direction(direction), None
    )


@settings(max_examples=examples(150))
@given(
    EDGES,
    DIRECTIONS,
    st.none() | st.integers(0, 4),
    st.sampled_from([1, 12, 1 << 20]),
    st.sampled_from([0, 4]),
)
def test_all_shortest_paths_are_found(
    edges: Any, direction: Direction, maximum: Any, size: int, many: int
) -> None:
    graph, known = _graph(edges)
    starts, ends = _pairs()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frontier, "_MAX_DEPTHS", size)
        patch.setattr(entry_windows, "_MAX_ENTRIES", size)
        patch.setattr(compact, "_MIN_SPARSITY", many)
        steps = _steps(graph, direction)
        found = Counter(
            (row, tuple(walked))
            for level in shortest_paths(*steps, starts, ends, maximum, _nothing, every=True)
            for row, walked in zip(level.rows.tolist(), level.relationships.tolist(), strict=True)
        )
        one = Counter(
            (row, tuple(walked))
            for level in shortest_paths(*steps, starts, ends, maximum, _nothing, every=False)
            for row, walked in zip(level.rows.tolist(), level.relationships.tolist(), strict=True)
        )
        lengths = distances(*steps, starts, ends, maximum, _nothing).tolist()
    wanted = Counter(
        (row, walked)
        for row, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        for walked in shortest_between(known, a, b, direction.value, maximum)
    )
    assert found == wanted
    assert Counter(row for row, _ in one) == Counter({row for row, _ in wanted})
    assert not one - wanted
    known_lengths = {row: len(walked) for row, walked in wanted}
    assert lengths == [known_lengths.get(row, 0) for row in range(len(starts))]


@settings(max_examples=examples(100))
@given(EDGES, DIRECTIONS, st.integers(0, 3), st.none() | st.integers(0, 4), st.booleans())
def test_longer_paths_are_in_order_of_length(
    edges: Any, direction: Direction, minimum: int, maximum: int | None, single: bool
) -> None:
    graph, known = _graph(edges)
    starts, ends = _pairs()
    found: Counter[Any] = Counter()
    waiting = np.ones(len(starts), dtype=np.bool_)
    lengths: dict[int, int] = {}

    def enough(level: Level) -> np.ndarray:
        length = level.relationships.shape[1]
        for row, walked in zip(level.rows.tolist(), level.relationships.tolist(), strict=True):
            assert lengths.get(row, 0) <= length
            lengths[row] = length
            found[row, tuple(walked)] += 1
        return waiting

    with pytest.MonkeyPatch.context() as patch:
        if single:
            patch.setattr(by_length, "_MAX_DISTANCES", 1)
        steps = _steps(graph, direction)
        paths_by_length(*steps, starts, ends, (minimum, maximum), enough, _nothing)
    wanted = Counter(
        (row, walked)
        for row, (a, b) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        for node, walked in trails_from(known, a, direction.value, maximum)
        if node == b and len(walked) >= minimum
    )
    assert found == wanted


def test_pairs_with_enough_paths_are_searched_no_further() -> None:
    graph, _ = _graph([(0, 1), (0, 1), (1, 2), (2, 1), (2, 2)])
    lengths = []

    def enough(level: Level) -> np.ndarray:
        lengths.append(level.relationships.shape[1])
        return np.array([len(lengths) < 2])

    steps = _steps(graph, Direction.OUTGOING)
    one, two = np.array([0], np.uint32), np.array([1], np.uint32)
    paths_by_length(*steps, one, two, (0, None), enough, _nothing)
    assert lengths == [1, 1]


def test_distances_of_nodes_to_targets_are_exact() -> None:
    graph, _ = _graph([(0, 1), (1, 2), (3, 2), (2, 2)])
    backwards = adjacency_of(graph, Direction.INCOMING, None)
    far = distances_to(backwards, np.array([2, 0], np.uint32), _nothing)
    none = np.iinfo(np.int32).max
    assert far.tolist() == [[2, 1, 0, 1, none], [0, none, none, none, none]]
