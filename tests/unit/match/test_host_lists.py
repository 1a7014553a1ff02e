"""Lists of higher-ranked neighbours made by the host, against sorting by single relationships."""

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_upward_lists import expected

from gpugda.match import upward_lists
from gpugda.match.upward_lists import MadeLists


@given(data=st.data(), piece=st.sampled_from([1, 7, 1 << 20]))
def test_host_lists_of_random_multigraphs(data, piece):
    count = data.draw(st.integers(2, 20))
    node = st.integers(0, count - 1)
    types = data.draw(st.sampled_from(["R", "RRS"]))
    one = st.tuples(node, st.sampled_from(types), node, st.just({}))
    some = data.draw(st.lists(one, max_size=60))
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), *some])
    kind = data.draw(st.integers(0, len(graph.types) - 1))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(upward_lists, "_MIN_PIECE", 1)
        patched.setattr(upward_lists, "_MAX_PIECE", piece)
        made = MadeLists(graph, kind)
    neighbours = np.empty(made.count, dtype=np.uint32)
    made.write(neighbours)
    wanted = expected(graph, kind)
    assert made.starts.tolist() == np.cumsum([0, *map(len, wanted)]).tolist()
    assert neighbours.tolist() == [each for some in wanted for each in some]


def test_a_graph_without_relationships_of_the_type():
    graph = make_graph([("", {})] * 3, [(0, "R", 0, {}), (0, "S", 1, {})])
    made = MadeLists(graph, 0)
    assert made.count == 0
    assert made.starts.tolist() == [0] * 7
    made.write(np.empty(0, dtype=np.uint32))


def test_ranks_by_degrees_of_more_than_16_bits():
    degrees = [1, 70_000, 3, 65_537, 0]
    rows = [(node, "R", 5, {}) for node, degree in enumerate(degrees) for _ in range(degree)]
    graph = make_graph([("", {})] * 6, rows)
    assert upward_lists.host_ranks(graph, 0).tolist() == [4, 1, 3, 2, 5, 0]
