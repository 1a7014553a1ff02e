"""Triangles over each relationship, and sums over them, against enumerating all sets of nodes."""

from itertools import combinations

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import EdgeTriangleKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

pytestmark = pytest.mark.one_split


def triangles(pairs, nodes):
    joined = {frozenset(pair) for pair in pairs}
    return [
        [frozenset(side) for side in combinations(corners, 2)]
        for corners in combinations(range(nodes), 3)
        if all(frozenset(side) in joined for side in combinations(corners, 2))
    ]


def counted(context, workspace, graph, max_work):
    """Triangles over the relationships, sorted; the sums of diamonds, and of fans."""
    device_graph, nodes = DeviceGraph(context, graph), graph.node_count
    lists = ranked_lists(context, workspace, device_graph, 0, undirected=True)
    kernels = EdgeTriangleKernels(context)
    groups, task_nodes = kernels.max_groups, kernels.task_nodes(nodes)
    edges = kernels.zeros(workspace, lists)

    def walked(launch):
        tasks = CycleTasks.new(workspace, 1, nodes, max_work, groups)
        carried = workspace.upload(np.zeros(1, dtype=np.uint32), "carried sums")
        while int(workspace.download(tasks.counters)[0]) * task_nodes < nodes:
            launch(tasks, carried)
        assert workspace.download(carried).tolist() == [0]
        return tasks.total(workspace, whole=True)

    walked(lambda tasks, carried: kernels.count(lists, edges, tasks))
    fans = walked(lambda tasks, carried: kernels.fans(lists, edges, tasks, carried))
    totals = workspace.allocate(groups, np.uint64, "sums")
    workspace.fill(totals, 0)
    kernels.diamonds(edges, totals, workspace.upload(np.zeros(1, dtype=np.uint32), "carried sums"))
    diamonds = int(workspace.download(totals).sum())
    found = sorted(workspace.download(edges.counts)[: lists.size // 2].tolist())
    device_graph.close()
    return found, diamonds, fans


@given(data=st.data(), max_work=st.sampled_from([1, 1 << 20]))
def test_triangles_of_random_simple_graphs(context, data, max_work):
    if context.is_cpu:
        pytest.skip("for GPUs")
    nodes = data.draw(st.integers(2, 9))
    possible = list(combinations(range(nodes), 2))
    missing = data.draw(st.sets(st.sampled_from(possible[1:] or possible), max_size=12))
    pairs = [possible[0], *(pair for pair in possible[1:] if pair not in missing)]
    turned = data.draw(st.integers(0, 3))
    ends = [pair[::-1] if number % 4 < turned else pair for number, pair in enumerate(pairs)]
    graph = make_graph([("", {})] * nodes, [(a, "R", b, {}) for a, b in ends])
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found, diamonds, fans = counted(context, workspace, graph, max_work)
    found_triangles = triangles(pairs, nodes)
    over = {frozenset(pair): 0 for pair in pairs}
    for each in found_triangles:
        for side in each:
            over[side] += 1
    assert found == sorted(over.values())
    assert diamonds == sum(count * (count - 1) for count in over.values())
    assert fans == sum(
        (over[one] - 1) * (over[other] - 1)
        for each in found_triangles
        for one, other in combinations(each, 2)
    )
