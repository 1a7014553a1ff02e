"""Triangles counted per pair of segments, against enumerating all combinations."""

from itertools import pairwise

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.test_ranked_triangles import CYCLES, SIDES, expected
from kernels.test_upward_lists import expected as lists_of

from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.upward_lists import NodeLists, UpwardTriangleKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace


def counted(context, workspace, graph, weights, max_work, bounds):
    """Each segment lies at its own offset, after a gap."""
    lists, nodes = lists_of(graph, 0), graph.node_count
    starts = np.cumsum([0, *map(len, lists)]).astype(np.uint32)
    kernels, parts, entries = UpwardTriangleKernels(context), [], []
    for low, high in pairwise(bounds):
        entries += [nodes + 7] * 3
        parts.append(NodeLists(low, high, len(entries)))
        entries += starts[2 * low : 2 * high + 1].tolist()
        entries += [each for some in lists[2 * low : 2 * high] for each in some]
    on_device = workspace.upload(np.array(entries, dtype=np.uint32))
    tasks = CycleTasks.new(workspace, 1, nodes, max_work, kernels.groups)
    looks_up = max(graph.parallel_counts()) > 1
    for number, lowest in enumerate(parts):
        for middle in parts[: number + 1]:
            tasks.start_again(workspace)
            whole = lowest.high - lowest.low
            while int(workspace.download(tasks.counters)[0]) * kernels.task_nodes(whole) < whole:
                kernels.count(on_device, lowest, middle, weights, tasks, looks_up=looks_up)
    return tasks.total(workspace)


@given(data=st.data(), max_work=st.sampled_from([1, 1 << 20]))
def test_upward_triangles_of_random_multigraphs(context, data, max_work):
    if context.is_cpu:
        pytest.skip("for GPUs")
    count = data.draw(st.integers(2, 7))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.just("R"), node, st.just({}))
    some = data.draw(st.lists(one.filter(lambda each: each[0] != each[2]), max_size=40))
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), *some])
    weights = data.draw(st.sampled_from([CYCLES, SIDES, 6 * SIDES, 1, 5 << 12]))
    cuts = data.draw(st.sets(st.integers(1, count - 1)))
    bounds = [0, *sorted(cuts), count]
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found = counted(context, workspace, graph, weights, max_work, bounds)
    assert found == expected(graph, weights)
