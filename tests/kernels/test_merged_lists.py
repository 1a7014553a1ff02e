"""Merged lists against entries found and sorted in Python."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import entries, random_graph

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.derived_lists import ListKind, MergeKernels
from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.memory.buffers import MemoryBudget


def one_type(nodes):
    random = np.random.default_rng(5)
    ends = random.integers(0, nodes, (2, 3 * nodes)).T.tolist()
    return make_graph([("", {})] * nodes, [(start, "R", end, {}) for start, end in ends])


def many_types(nodes):
    """Rows with too many types to visit one by one."""
    random = np.random.default_rng(6)
    rows = random.integers(0, (nodes, 40, nodes), (60 * nodes, 3)).tolist()
    rows += [[0, kind, end] for kind in range(40) for end in (0, 1, 1)]
    return make_graph([("", {})] * nodes, [(a, f"T{kind:02}", b, {}) for a, kind, b in rows])


GRAPHS = {"one type": one_type, "three types": random_graph, "many types": many_types}
KINDS = [
    ListKind(types, outgoing, incoming)
    for types in (None, (0,), (0, 2))
    for outgoing, incoming in ((True, True), (True, False), (False, True))
]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("nodes", [2, 33, 257])
@pytest.mark.parametrize("kind", KINDS)
def test_merged_lists_hold_both_directions(context, workspace, name, nodes, kind):
    graph = GRAPHS[name](nodes if name != "many types" else min(nodes, 33))
    if kind.types and len(graph.types) <= max(kind.types):
        kind = kind._replace(types=(0,))
    arrays = DeviceGraph(context, graph).csr_arguments(MemoryBudget(1 << 40))
    count = graph.relationship_count
    made = MergeKernels(context).merged(
        workspace,
        PrefixSum(context),
        arrays,
        kind,
        graph.node_count,
        (count, count),
        has_loops=True,
    )
    assert made is not None
    neighbours = workspace.download(made.neighbours).tolist()
    np.testing.assert_array_equal(workspace.download(made.device_starts), made.starts)
    most = 1
    for node, (first, last) in enumerate(pairwise(made.starts.tolist())):
        expected = [
            other for other, _ in entries(graph, node, kind.outgoing, kind.incoming, kind.types)
        ]
        assert neighbours[first:last] == sorted(expected)
        most = max(most, *Counter(expected).values(), 1)
    assert made.most == most
    assert made.nbytes >= 4 * (made.starts[-1] + len(made.starts))


def test_merged_lists_without_relationships_are_empty(context, workspace):
    graph = make_graph([("", {})] * 3, [])
    made = MergeKernels(context).merged(
        workspace,
        PrefixSum(context),
        DeviceGraph(context, graph).csr_arguments(MemoryBudget(1 << 40)),
        ListKind(None, True, True),
        3,
        (0, 0),
        has_loops=False,
    )
    assert made is not None
    assert made.starts.tolist() == [0, 0, 0, 0]
    assert made.most == 1
