"""Candidates that have a candidate at the other end of a link."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import SIZES, any_multigraphs, pack, random_graph, unpack

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.kept_entries import EntryTest, entry_words
from gpugda.device.launch.segments import SemiJoinKernels
from gpugda.device.memory.buffers import MemoryBudget, Workspace

BOTH, OUTGOING, INCOMING = (True, True), (True, False), (False, True)
TESTS = [
    EntryTest(0, 1, None),
    EntryTest(2, 0, (1,)),
    EntryTest(1, 2, (2, 0)),
    EntryTest(None, 1, (0, 1)),
    EntryTest(1, None, None),
    EntryTest(2, 2, None),
    EntryTest(0, 1, ()),
]


def pairs(graph, test, directions):
    """The two ends of all entries that a link follows."""
    fits = np.ones(graph.relationship_count, dtype=bool)
    if test.types is not None:
        fits = np.isin(graph.relationship_types(), test.types)
    source, target = graph.start_nodes()[fits], graph.outgoing.neighbours[fits]
    found = [(source, target)] * directions[0] + [(target, source)] * directions[1]
    if not found:
        return np.zeros((2, 0), dtype=np.int64)
    return np.concatenate([np.array(each) for each in found], axis=1)


def expected(graph, candidates, test, directions):
    """The matrix after the semi-join and after the other end was restricted to what it marked."""
    ends, rows = pairs(graph, test, directions), (test.bound_row, test.row)
    for end, row in enumerate(rows):
        if row is not None:
            ends = ends[:, candidates[row][ends[end]]]
    after = candidates.copy()
    for end, row in enumerate(rows):
        if row is not None:
            connected = np.zeros(graph.node_count, dtype=bool)
            connected[ends[end]] = True
            after[row] &= connected
    return after


def fixpoint(graph, candidates, test, directions):
    """What repeated semi-joins leave."""
    while True:
        after = expected(graph, candidates, test, directions)
        if (after == candidates).all():
            return after
        candidates = after


def check(context, workspace, graph, candidates, tests=TESTS):
    arguments = DeviceGraph(context, graph).csr_arguments(MemoryBudget(1 << 40))
    kernels, asked = SemiJoinKernels(context), np.array(entry_words(tests), dtype=np.uint32)
    words = workspace.upload(asked)
    bits = np.concatenate([pack(each) for each in candidates])
    for number, test in enumerate(tests):
        for directions in (BOTH, OUTGOING, INCOMING):
            matrix = workspace.upload(bits)
            marks = workspace.upload(np.zeros(len(bits) // len(candidates), dtype=np.uint32))
            nodes = graph.node_count
            kernels.semi_join(arguments, words, number, directions, nodes, matrix, marks)
            if test.row is not None:
                kernels.keep_marked(test.row, matrix, marks)
            assert not workspace.download(marks).any()
            rows = workspace.download(matrix).reshape(len(candidates), -1)
            found = np.array([unpack(each, nodes) for each in rows])
            after = expected(graph, candidates, test, directions)
            if test.bound_row != test.row:
                np.testing.assert_array_equal(found, after, err_msg=f"{test} {directions}")
            else:  # some may be removed because others were, depending on the order
                assert (found <= after).all()
                assert (found >= fixpoint(graph, candidates, test, directions)).all()


@pytest.mark.parametrize("nodes", SIZES)
@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
def test_only_connected_candidates_remain(context, workspace, nodes, share):
    graph = random_graph(nodes)
    candidates = np.random.default_rng(nodes).random((3, nodes)) < share
    check(context, workspace, graph, candidates)


@given(graph=any_multigraphs(40, 60, "RST"), data=st.data())
def test_any_multigraphs(context, graph, data):
    one = st.lists(st.booleans(), min_size=graph.node_count, max_size=graph.node_count)
    rows = data.draw(st.lists(one, min_size=3, max_size=3))
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        check(context, workspace, graph, np.array(rows, dtype=bool))
