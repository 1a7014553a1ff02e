"""Squares counted from their highest node, against enumerating all combinations."""

from collections import Counter

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.oriented import oriented
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycles import CycleTasks, UpwardSquareKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

pytestmark = pytest.mark.one_split

GROUPS = 3


def between(graph, type_id):
    """Number of relationships between each two nodes, in either direction."""
    found = Counter()
    kinds = graph.relationship_types().tolist()
    ends = zip(graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist(), strict=True)
    for (start, end), kind in zip(ends, kinds, strict=True):
        if type_id in (None, kind):
            found[start, end] += 1
            found[end, start] += 1
    return found


def expected(graph, type_id):
    """Twice the pairs of paths over different nodes, from each node to each lower one."""
    count, sides = graph.node_count, between(graph, type_id)
    degrees = (graph.outgoing.degrees() + graph.incoming.degrees()).tolist()
    ranks = {node: (degrees[node], node) for node in range(count)}
    total = 0
    for a in range(count):
        lower = [node for node in range(count) if ranks[node] < ranks[a]]
        for c in lower:
            ways = [sides[a, b] * sides[b, c] for b in lower]
            total += sum(ways) ** 2 - sum(each**2 for each in ways)
    return total


def counted(context, workspace, graph, type_id, max_work):
    upwards = oriented(graph)
    device_graph = DeviceGraph(context, upwards)
    arrays = device_graph.csr_arguments(MemoryBudget(1 << 30))
    kernels, nodes = UpwardSquareKernels(context), graph.node_count
    degrees = workspace.allocate(nodes, np.uint32)
    kernels.count_relationships(arrays, nodes, degrees)
    expected_degrees = graph.outgoing.degrees() + graph.incoming.degrees()
    assert np.array_equal(workspace.download(degrees)[:nodes], expected_degrees)
    tasks = CycleTasks.new(workspace, GROUPS * nodes, nodes, max_work, GROUPS)
    while int(workspace.download(tasks.counters)[0]) * kernels.task_nodes(nodes, GROUPS) < nodes:
        kernels.count(arrays, type_id, degrees, GROUPS, tasks)
    assert not workspace.download(tasks.scratch)[: GROUPS * nodes].any()
    device_graph.close()
    return tasks.total(workspace)


def skip_on_cpu(context):
    if context.is_cpu:
        pytest.skip("for GPUs: a CPU counts squares in the graph as it is")


@given(data=st.data(), max_work=st.sampled_from([1, 1 << 20]))
def test_squares_of_random_multigraphs(context, data, max_work):
    skip_on_cpu(context)
    count = data.draw(st.integers(1, 7))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from("RRS"), node, st.just({}))
    distinct = one.filter(lambda each: each[0] != each[2])
    some = data.draw(st.lists(distinct, max_size=16)) if count > 1 else []
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), *some] if count > 1 else [])
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        assert counted(context, workspace, graph, 0, max_work) == expected(graph, 0)
        if not oriented(graph).statistics.has_parallel:
            assert counted(context, workspace, graph, None, max_work) == expected(graph, None)


def test_long_lists_are_divided_among_teams(context, workspace):
    skip_on_cpu(context)
    random = np.random.default_rng(2)
    pairs = {tuple(sorted(each)) for each in random.integers(0, 60, (900, 2)).tolist()}
    some = [(one, "R", other, {}) for one, other in sorted(pairs) if one != other]
    graph = make_graph([("", {})] * 60, some)
    assert counted(context, workspace, graph, 0, 1 << 20) == expected(graph, 0)
