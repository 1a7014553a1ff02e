from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda.data.parallel as parallel

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
        found = parallel.max_parallel_undirected(graph.outgoing, graph.incoming, len(names))
        bounds = [2 * each for each in most(one_way)]
        bounded = parallel.max_parallel_undirected(
            graph.outgoing, graph.incoming, len(names), bounds
        )
    assert found == most(either_way)
    assert bounded == tuple(
        1 if exact == 1 else bound for exact, bound in zip(found, bounds, strict=True)
    )
    assert all(exact <= bound for exact, bound in zip(found, bounded, strict=True))
    assert parallel.max_parallel(graph.outgoing, len(names)) == most(one_way)


def test_distant_node_indexes_do_not_collide():
    far = (1 << 16) + 1
    nodes = [("", {})] * (far + 1)
    graph = make_graph(nodes, [(0, "R", 1, {}), (1, "R", far, {}), (far, "R", 1, {})])
    assert parallel.max_parallel_undirected(graph.outgoing, graph.incoming, 1) == (2,)
    assert np.all(graph.parallel_counts() == np.array([1]))
