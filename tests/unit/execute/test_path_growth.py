"""Expected paths of variable length, beside those that the graph has."""

from collections import Counter

import numpy as np
import pytest
from graphs import make_graph

from gpugda.execute.paths.path_growth import path_growth
from gpugda.query.ast import Direction


def random_graph(nodes, relationships, seed=1):
    pairs = np.random.default_rng(seed).integers(0, nodes, (relationships, 2))
    named = [(int(a), "R", int(b), {}) for a, b in pairs if a != b]
    return make_graph([("A", {})] * nodes, named)


def walks(graph, nodes, length):
    """Walks along outgoing relationships, by the node where they end."""
    ends = Counter(nodes)
    for _ in range(length):
        after = Counter()
        for node, often in ends.items():
            first, last = graph.outgoing.row_offsets[node : node + 2]
            for other in graph.outgoing.neighbours[first:last]:
                after[int(other)] += often
        ends = after
    return ends


def test_few_nodes_are_followed_exactly():
    graph = random_graph(60, 200)
    starts = np.zeros(60)
    starts[[3, 8]] = 1.0
    growth = path_growth(graph, starts, Direction.OUTGOING, None, 1, 3)
    expected = [walks(graph, [3, 8], length) for length in range(4)]
    assert growth.levels == pytest.approx([found.total() / 2 for found in expected])
    reached = set().union(*expected[1:])
    assert set(np.flatnonzero(growth.ends)) == reached
    assert (growth.reachable, growth.starts) == (len(reached), 2)


def test_undirected_paths_do_not_turn_back():
    star = make_graph([("A", {})] * 6, [(0, "R", other, {}) for other in range(1, 6)])
    growth = path_growth(star, None, Direction.BOTH, None, 1, None)
    assert growth.levels == pytest.approx((1.0, 10 / 6, 20 / 6, 0.0))


def test_many_nodes_are_sampled():
    graph = random_graph(5000, 15_000)
    growth = path_growth(graph, None, Direction.OUTGOING, None, 1, 4)
    expected = [walks(graph, range(5000), length).total() / 5000 for length in range(5)]
    assert growth.levels == pytest.approx(expected, rel=0.2)
    assert growth.reachable == graph.nodes_having((None, False), None)


@pytest.mark.parametrize("nodes", [40, 5000])
def test_paths_that_reach_everything_grow_on_as_before(nodes):
    graph = random_graph(nodes, 4 * nodes)
    growth = path_growth(graph, None, Direction.OUTGOING, None, 1, None)
    rates = np.divide(growth.levels[1:], growth.levels[:-1])
    assert np.ptp(rates[-5:]) < 1e-6
    assert rates[-1] == pytest.approx(4.0, rel=0.2)
    assert growth.paths(1) > 1e9
    assert growth.reached(1) == pytest.approx(growth.reachable)


def test_no_start_has_no_paths():
    growth = path_growth(random_graph(5, 9), np.zeros(5), Direction.OUTGOING, None, 1, 3)
    assert (growth.paths(1), growth.reachable) == (0, 0)
