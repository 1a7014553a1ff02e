"""Self-loops and pairs of relationships beside them, against counting one by one."""

from __future__ import annotations

from collections import Counter

import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda.data.statistics.self_loops as self_loops
from gpugda.data.statistics.self_loops import LoopPairs
from gpugda.deadline import working_until
from gpugda.errors import QueryTimeoutError

NODES = 5
relationships = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.sampled_from("RS"), st.integers(0, NODES - 1)),
    max_size=40,
)


def loops_of(rows, name):
    return Counter(a for a, kind, b in rows if kind == name and a == b)


def expected_pairs(rows, name):
    """Goes through all ordered pairs of different relationships."""
    chosen = [(number, a, b) for number, (a, kind, b) in enumerate(rows) if kind == name]
    found = Counter()
    for node, loops in loops_of(rows, name).items():
        for one, a, b in chosen:
            for other, c, d in chosen:
                if one == other:
                    continue
                found["out_out"] += loops * (a == c == node != b == d)
                found["in_in"] += loops * (b == d == node != a == c)
                found["out_in"] += loops * (a == d == node != b == c)
        found["loops"] += loops * (loops - 1) * (loops - 2)
    return LoopPairs(*(found[each] for each in LoopPairs._fields))


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@given(rows=relationships)
def test_nodes_with_loops_and_pairs_beside_them_are_counted(piece, rows):
    graph = make_graph([("", {})] * NODES, [(a, kind, b, {}) for a, kind, b in rows])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(self_loops, "_PIECE", piece)
        for kind, name in enumerate(graph.types.names):
            nodes, counts = graph.self_loops().nodes(kind)
            wanted = sorted(loops_of(rows, name).items())
            assert list(zip(nodes.tolist(), counts.tolist(), strict=True)) == wanted
            assert graph.self_loops().pairs(kind) == expected_pairs(rows, name)
        nodes, counts = graph.self_loops().of(frozenset(range(len(graph.types))))
        wanted = sorted((loops_of(rows, "R") + loops_of(rows, "S")).items())
        assert list(zip(nodes.tolist(), counts.tolist(), strict=True)) == wanted


def test_a_search_that_runs_out_of_time_is_repeated():
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {}), (2, "R", 2, {})])
    with working_until(0.0), pytest.raises(QueryTimeoutError):
        graph.self_loops().nodes(0)
    assert graph.self_loops().nodes(0).nodes.tolist() == [2]
