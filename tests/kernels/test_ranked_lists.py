"""Lists by rank, against sorting on the host."""

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace


def expected(graph, kind):
    """Per direction, and per rank: the ranks of neighbours, rising."""
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
    return [
        [sorted(pair[1 - end] for pair in pairs if pair[end] == v) for v in range(graph.node_count)]
        for end in (0, 1)
    ]


@given(data=st.data(), kind=st.sampled_from([0, 1, None]))
def test_lists_of_any_multigraph(context, data, kind):
    if context.is_cpu:
        pytest.skip("for GPUs")
    count = data.draw(st.integers(2, 40))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from("RRS"), node, st.just({}))
    some = data.draw(st.lists(one.filter(lambda each: each[0] != each[2]), max_size=90))
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), (1, "S", 0, {}), *some])
    device_graph = DeviceGraph(context, graph)
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        lists = ranked_lists(context, workspace, device_graph, kind)
        for rows, wanted in zip(lists[:2], expected(graph, kind), strict=True):
            neighbours, starts, middles = (workspace.download(each).tolist() for each in rows)
            for v, each in enumerate(wanted):
                assert neighbours[starts[v] : starts[v + 1]] == each
                assert middles[v] - starts[v] == sum(other < v for other in each)
        assert lists.size == sum(map(len, wanted))
    device_graph.close()
