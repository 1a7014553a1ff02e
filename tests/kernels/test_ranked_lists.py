"""Lists by rank, against sorting on the host."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs, ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace


def expected(graph, kind, undirected):
    """Per direction and rank, the ranks of neighbours, ascending; and the loops of each rank."""
    chosen = [
        number
        for number, each in enumerate(graph.relationship_types().tolist())
        if kind is None or each == kind
    ]
    starts, ends = graph.start_nodes()[chosen], graph.outgoing.neighbours[chosen]
    degrees = np.bincount(np.concatenate([starts, ends]), minlength=graph.node_count)
    order = sorted(range(graph.node_count), key=lambda node: (-degrees[node], node))
    ranks = np.argsort(np.array(order))
    pairs = [(ranks[one], ranks[other]) for one, other in zip(starts, ends, strict=True)]
    loops = [sum(pair == (v, v) for pair in pairs) for v in range(graph.node_count)]
    pairs = [pair for pair in pairs if pair[0] != pair[1]]
    pairs += [pair[::-1] for pair in pairs] * undirected
    return [
        [sorted(pair[1 - end] for pair in pairs if pair[end] == v) for v in range(graph.node_count)]
        for end in (0, 1)
    ], loops


@given(
    graph=any_multigraphs(40, 90, "RRS", [(0, "R", 1, {}), (1, "S", 0, {})]),
    kind=st.sampled_from([0, 1, None]),
    undirected=st.booleans(),
    window=st.sampled_from([None, 1, 7, 1000]),
)
def test_ranked_lists_of_random_multigraphs(context, graph, kind, undirected, window):
    if context.is_cpu:
        pytest.skip("for GPUs")
    device_graph = DeviceGraph(context, graph)
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        lists = ranked_lists(
            context, workspace, device_graph, kind, undirected, window if undirected else None
        )
        wanted_rows, loops = expected(graph, kind, undirected)
        max_above = 0
        for rows, wanted in zip(lists[:2], wanted_rows, strict=True):
            neighbours, starts, middles = (workspace.download(each).tolist() for each in rows)
            for v, each in enumerate(wanted):
                assert neighbours[starts[v] : starts[v + 1]] == each
                assert middles[v] - starts[v] == sum(other < v for other in each)
                max_above = max(max_above, middles[v] - starts[v])
        assert lists.size == sum(map(len, wanted))
        assert lists.max_above == max_above
        found = None if lists.loops is None else workspace.download(lists.loops).tolist()
        assert found == (loops if any(loops) else None)
        assert len(lists.arrays) == len(set(map(id, lists.arrays)))
    device_graph.close()
