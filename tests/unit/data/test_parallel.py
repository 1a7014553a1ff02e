from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda.data.parallel as parallel
from gpugda.errors import QueryTimeoutError

relationships = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from("RST"), st.integers(0, 4)), max_size=40
)


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@given(rows=relationships)
def test_the_largest_number_of_parallel_relationships_is_found(piece, rows):
    graph = make_graph([("", {})] * 5, [(a, kind, b, {}) for a, kind, b in rows])
    names = graph.types.names
    one_way = Counter((kind, a, b) for a, kind, b in rows)
    either_way = Counter((kind, *sorted((a, b))) for a, kind, b in rows)

    def most(counter):
        return tuple(max(n for key, n in counter.items() if key[0] == name) for name in names)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(parallel, "_PIECE", piece)
        both = graph.outgoing, graph.incoming
        found = parallel.ParallelCounts(both, len(names)).found()
        bounds = [2 * each for each in most(one_way)]
        bounded = parallel.ParallelCounts(both, len(names), bounds).found()
        for csr in both:
            assert parallel.ParallelCounts((csr,), len(names)).found() == most(one_way)
    assert found == most(either_way)
    assert bounded == tuple(
        1 if exact == 1 else bound for exact, bound in zip(found, bounds, strict=True)
    )
    assert all(exact <= bound for exact, bound in zip(found, bounded, strict=True))


def test_distant_node_indexes_do_not_collide():
    far = (1 << 16) + 1
    nodes = [("", {})] * (far + 1)
    graph = make_graph(nodes, [(0, "R", 1, {}), (1, "R", far, {}), (far, "R", 1, {})])
    assert graph.undirected_parallel_counts() == (2,)
    assert np.all(graph.parallel_counts() == np.array([1]))


def test_a_count_that_runs_out_of_time_is_continued(monkeypatch):
    rows = [(i % 7, "RS"[i % 2], i * i % 5, {}) for i in range(200)]
    rows += [(3, "R", 4, {})] * 4
    graph = make_graph([("", {})] * 7, rows)
    expected = graph.undirected_parallel_counts()
    monkeypatch.setattr(parallel, "_PIECE", 1)
    monkeypatch.setattr(parallel, "_PIECES_PER_CORE", 1)
    monkeypatch.setattr(parallel, "core_count", lambda: 1)
    looks = []

    def run_out() -> None:
        looks.append(None)
        if len(looks) % 3 == 0:
            raise QueryTimeoutError

    monkeypatch.setattr(parallel, "check_time", run_out)
    counts = parallel.ParallelCounts((graph.outgoing, graph.incoming), len(graph.types))
    interrupted = 0
    while True:
        try:
            assert counts.found() == expected
            break
        except QueryTimeoutError:
            interrupted += 1
    assert interrupted == 3  # seven nodes, a piece each
    assert len(looks) == 7 + interrupted
