from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from every_trail import trails_from

import gpugda
from gpugda.data.adjacency import Adjacency
from gpugda.data.runs import offsets_of
from gpugda.execute.paths.trail_sets import TrailSets, met_again, numbered, trail_sets
from gpugda.execute.relationship_lists import RelationshipLists, avoiding, sharing
from gpugda.types import MAX_WEIGHT


def _steps(edges: list[tuple[int, int]], nodes: int, *, undirected: bool = False) -> Adjacency:
    entries = [(a, b, number) for number, (a, b) in enumerate(edges)]
    if undirected:
        entries += [(b, a, number) for number, (a, b) in enumerate(edges) if a != b]
    starts, ends, numbers = np.array(sorted(entries), dtype=np.uint32).reshape(-1, 3).T
    return Adjacency(offsets_of(starts, nodes), ends, numbers)


def _begin(starts: list[int], weight: int = 1) -> TrailSets:
    count = len(starts)
    return TrailSets(
        np.arange(count),
        np.array(starts, dtype=np.uint32),
        np.zeros(count, dtype=np.uint64),
        np.full(count, weight, dtype=np.uint64),
    )


def _counted(levels: list[TrailSets]) -> Counter[tuple[int, int]]:
    found: Counter[tuple[int, int]] = Counter()
    for level in levels:
        rows, ends, weights = level.rows.tolist(), level.ends.tolist(), level.weights.tolist()
        for row, end, weight in zip(rows, ends, weights, strict=True):
            found[row, end] += weight
    return found


@pytest.mark.parametrize("direction", ["->", "-"])
@pytest.mark.parametrize("seed", range(4))
def test_sets_count_all_trails(seed: int, direction: str) -> None:
    rng = random.Random(seed)
    edges = [(rng.randrange(5), rng.randrange(5)) for _ in range(7)]
    steps = _steps(edges, 5, undirected=direction == "-")
    met = steps.relationships if direction == "-" else met_again(steps)
    known = numbered(steps, met)
    assert known is not None
    found = _counted(list(trail_sets(known, _begin([0, 1, 2, 3, 4]), 1, 6, lambda: None)))
    expected = Counter(
        (start, end)
        for start in range(5)
        for end, walked in trails_from(edges, start, direction, 6)
        if walked
    )
    assert found == expected


def test_relationships_of_a_hierarchy_are_met_once() -> None:
    edges = [(a, b) for a in range(10) for b in range(2 * a + 1, min(2 * a + 3, 10))]
    steps = _steps(edges, 10)
    assert len(met_again(steps)) == 0
    known = numbered(steps, met_again(steps))
    assert known is not None
    found = _counted(list(trail_sets(known, _begin([0]), 1, None, lambda: None)))
    assert found.total() == 9


def test_more_trails_than_a_number_holds() -> None:
    edges = [(a, a + 1) for a in range(64) for _ in range(2)]
    steps = _steps(edges, 65)
    known = numbered(steps, steps.relationships[:0])
    assert known is not None
    levels = list(trail_sets(known, _begin([0]), 63, None, lambda: None))
    assert [level.weights.tolist() for level in levels] == [[2**63], [MAX_WEIGHT]]


def test_too_many_relationships_have_no_bits() -> None:
    steps = _steps([(0, 1)] * 65, 2)
    assert numbered(steps, steps.relationships) is None


def test_sets_as_lists() -> None:
    steps = _steps([(0, 1), (1, 2), (2, 0)], 3)
    known = numbered(steps, steps.relationships)
    assert known is not None
    listed = known.listed(np.array([5, 0, 2], dtype=np.uint64))
    assert listed.dictionary is not None
    lists = listed.dictionary.values(listed.values)
    assert [[each.index for each in one] for one in lists] == [[0, 2], [], [1]]


def _lists(of: list[list[int]]) -> RelationshipLists:
    counts = np.array(list(map(len, of)), dtype=np.int64)
    firsts = np.cumsum(counts) - counts
    indexes = np.array([each for one in of for each in one], dtype=np.uint32)
    return RelationshipLists(firsts, counts, indexes, int(counts.max()))


@pytest.mark.parametrize("length", [3, 9])
def test_shared_relationships(length: int) -> None:
    rng = random.Random(length)
    left, right = (
        [rng.sample(range(20), rng.randint(0, length)) for _ in range(200)] for _ in range(2)
    )
    expected = [row for row in range(200) if set(left[row]) & set(right[row])]
    assert sharing(_lists(left), _lists(right), 20).tolist() == expected
    fresh = avoiding([_lists(left), _lists(right)], 20)
    asked = np.arange(200), np.arange(200, dtype=np.uint32) % 20
    assert fresh(*asked).tolist() == [
        row % 20 not in (*left[row], *right[row]) for row in range(200)
    ]


def test_long_trails_use_no_relationship_twice():
    ring = [(node, (node + 1) % 40) for node in range(40)]
    text = "MATCH p = (a {id: 0})-[*]->(b) RETURN length(p), b.id"
    with gpugda.connect(gpugda.graph(relationships=[*ring, (20, 20)], type="R")) as graph:
        found = sorted(graph.run(text, engine="gpu").values())
        expected = sorted(graph.run(text, engine="reference").values())
    assert found == expected
    assert max(length for length, _ in found) == 41
