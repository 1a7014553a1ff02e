from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda.data.statistics.parallel as parallel
import gpugda.data.statistics.parallel as parallel_scans
from gpugda.data.csr import csr_of
from gpugda.data.patches.patched import Patched
from gpugda.errors import QueryTimeoutError

relationships = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("RSTUVWXYZ"), st.integers(0, 4)), max_size=60
)


def graph_of(rows, nodes=5):
    return make_graph([("", {})] * nodes, [(a, kind, b, {}) for a, kind, b in rows])


def most(counter, names):
    return [max(n for key, n in counter.items() if key[0] == name) for name in names]


def expected_counts(rows, names):
    """Of each type, with the same start and end, and in either order."""
    one_way = Counter((kind, a, b) for a, kind, b in rows)
    either_way = Counter((kind, *sorted((a, b))) for a, kind, b in rows)
    return most(one_way, names), most(either_way, names)


def counts_of(graph, *, bounded=False):
    flags = graph.statistics.parallel_types
    return parallel.ParallelCounts(graph.outgoing, graph.incoming, flags, bounded=bounded)


@pytest.fixture
def large(monkeypatch):
    """Every graph is large."""
    monkeypatch.setattr(parallel, "_FEW_RUNS", -1)


@pytest.mark.parametrize("few", [-1, 1 << 20])
@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@given(rows=relationships, some=st.lists(st.sets(st.integers(0, 8)), max_size=3))
def test_the_largest_number_of_parallel_relationships_is_found(piece, few, rows, some):
    graph = graph_of(rows)
    names = graph.types.names
    one_way, either_way = expected_counts(rows, names)
    asked = [[each for each in sorted(types) if each < len(names)] for types in some]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parallel_scans, "_PIECE", piece)
        patched.setattr(parallel, "_FEW_RUNS", few)
        exact, bounded = counts_of(graph), counts_of(graph, bounded=True)
        for types in [*asked, range(len(names))]:
            assert exact.of(types, directed=False) == [either_way[each] for each in types]
            assert exact.of(types, directed=True) == [one_way[each] for each in types]
            bounds = bounded.of(types, directed=False)
            for each, bound in zip(types, bounds, strict=True):
                assert bound == (1 if either_way[each] == 1 else 2 * one_way[each])
                assert bound >= either_way[each]
        assert exact.of(None, directed=False) == either_way
        assert exact.of(None, directed=True) == one_way


def test_only_the_types_asked_for_are_counted_in_either_order(large):
    graph = graph_of([(0, "R", 1), (0, "R", 1), (0, "S", 1), (1, "S", 0), (2, "T", 3)])
    counts = counts_of(graph)
    assert counts.known(directed=True).tolist() == [0, 1, 1]  # the statistics exclude two types
    assert counts.of([1], directed=False) == [2]
    assert counts.known(directed=False).tolist() == [0, 2, 0]
    assert counts.of([0, 2], directed=False) == [2, 1]
    assert counts.known(directed=True).tolist() == [2, 1, 1]


def test_few_types_of_a_patched_graph_are_counted_with_all_others(large):
    graph = graph_of([(0, "R", 1), (0, "S", 1), (1, "S", 0)])
    csrs = [
        csr_of(each.parts._replace(neighbours=Patched.of(each.neighbours)))
        for each in (graph.outgoing, graph.incoming)
    ]
    counts = parallel.ParallelCounts(*csrs, graph.statistics.parallel_types, bounded=False)
    assert counts.of([0], directed=False) == [1]
    assert counts.known(directed=False).tolist() == [1, 2]


def inherit(later, older, most):
    for directed in (True, False):
        later.inherit(older.known(directed=directed), np.array(most), directed=directed)


def test_counts_of_a_later_state_are_compared(large):
    graph = graph_of([(0, "R", 1), (0, "R", 1), (0, "S", 1), (0, "S", 1)])
    older, later = counts_of(graph), counts_of(graph)
    assert older.of([0], directed=False) == [2]
    assert not older.holds(later)
    inherit(later, older, [0, 0])
    assert older.holds(later)
    changed = counts_of(graph)
    inherit(changed, older, [3, 0])
    assert changed.of([0, 1], directed=False) == [3, 2]
    assert not older.holds(changed)


def test_many_types_are_counted_at_once(large):
    rows = [(i % 5, f"T{i % 97}", i * i % 5) for i in range(900)]
    graph = graph_of(rows)
    one_way, either_way = expected_counts(rows, graph.types.names)
    types = list(range(0, 97, 2))
    counts = counts_of(graph)
    assert counts.of(types, directed=False) == [either_way[each] for each in types]
    assert counts.of(types, directed=True) == [one_way[each] for each in types]


def test_threads_that_ask_at_once_get_the_same_counts(large):
    rows = [(i % 7, f"T{i % 13}", i * i % 5) for i in range(400)]
    graph = graph_of(rows, nodes=7)
    one_way, either_way = expected_counts(rows, graph.types.names)
    counts = counts_of(graph)

    def ask(number):
        types = [number % 13, (3 * number + 1) % 13]
        directed = number % 3 == 0
        expected = one_way if directed else either_way
        return counts.of(types, directed=directed) == [expected[each] for each in types]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(60)))


def test_distant_node_indexes_do_not_collide():
    far = (1 << 16) + 1
    nodes = [("", {})] * (far + 1)
    graph = make_graph(nodes, [(0, "R", 1, {}), (1, "R", far, {}), (far, "R", 1, {})])
    assert graph.undirected_parallel_counts() == (2,)
    assert np.all(graph.parallel_counts() == np.array([1]))


def test_a_count_that_runs_out_of_time_is_continued(monkeypatch):
    rows = [(i % 7, "RS"[i % 2], i * i % 5) for i in range(200)]
    rows += [(3, "R", 4)] * 4
    graph = graph_of(rows, nodes=7)
    expected = expected_counts(rows, graph.types.names)[1]
    monkeypatch.setattr(parallel_scans, "_PIECE", 1)
    monkeypatch.setattr(parallel_scans, "_PIECES_PER_CORE", 1)
    monkeypatch.setattr(parallel_scans, "core_count", lambda: 1)
    looks = []

    def run_out() -> None:
        looks.append(None)
        if len(looks) % 3 == 0:
            raise QueryTimeoutError

    monkeypatch.setattr(parallel_scans, "check_time", run_out)
    counts = counts_of(graph)
    interrupted = 0
    while True:
        try:
            assert counts.of(None, directed=False) == expected
            break
        except QueryTimeoutError:
            interrupted += 1
    pieces = len(graph.outgoing.run_types) + 7  # a run each, then a node each
    assert pieces > 14
    assert len(looks) == pieces + interrupted
    assert interrupted == (pieces - 1) // 2
