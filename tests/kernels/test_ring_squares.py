"""Rings of four nodes counted from their highest ones, against enumerating all combinations."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs, ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import RankedTriangleKernels, RingSquareKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

pytestmark = pytest.mark.one_split

GROUPS = 3
AROUND = 1 << 4 * 0b001 | 1 << 4 * 0b110


def expected(graph, kind, undirected):
    """Number of closed walks of four distinct relationships."""
    types = graph.relationship_types().tolist()
    ends = list(zip(graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist(), strict=True))
    after = {}
    for number, (start, end) in enumerate(ends):
        if types[number] == kind:
            after.setdefault(start, []).append((end, number))
            if undirected and start != end:
                after.setdefault(end, []).append((start, number))
    total = 0
    for a in range(graph.node_count):
        for b, first in after.get(a, ()):
            for c, second in after.get(b, ()):
                for d, third in after.get(c, ()):
                    for end, fourth in after.get(d, ()):
                        total += end == a and len({first, second, third, fourth}) == 4
    return total


def counted(context, workspace, graph, undirected, max_work, first=0, nodes_together=1):
    """Nodes before ``first`` are counted by all groups together, the others by one group each."""
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0, undirected)
    directions = lists[:1] if undirected else lists[:2]
    kernels, nodes = RingSquareKernels(context), graph.node_count
    tasks = CycleTasks.new(workspace, GROUPS * nodes, nodes, max_work, GROUPS)
    if first:
        ends = [int(workspace.download(rows.starts, first, 1)[0]) for rows in directions]
        paths = [
            kernels.paths(workspace, rows, first, end)
            for rows, end in zip(directions, ends, strict=True)
        ]
        marks = workspace.allocate(nodes_together * nodes, np.uint32)
        workspace.fill(marks, 0)
        for begin in range(0, first, nodes_together):
            together = range(begin, min(begin + nodes_together, first))
            kernels.batch(lists, paths, together, marks, tasks.totals)
        assert not workspace.download(marks)[: nodes_together * nodes].any()
    task_nodes = kernels.task_nodes(nodes)
    while int(workspace.download(tasks.counters)[0]) * task_nodes < nodes - first:
        kernels.count(lists, first, GROUPS, tasks)
    kernels.correct(lists, tasks.totals)
    triangles = 0
    if lists.loops is not None:
        by_triangles, weights = RankedTriangleKernels(context), 2 if undirected else AROUND
        sums = CycleTasks.new(workspace, 1, nodes, max_work, by_triangles.max_groups)
        while int(workspace.download(sums.counters)[0]) < nodes:
            by_triangles.count(lists, weights, sums, lists.loops, looks_up=True)
        triangles = sums.total(workspace)
    assert not workspace.download(tasks.scratch)[: GROUPS * nodes].any()
    device_graph.close()
    return (tasks.total(workspace) + 4 * triangles) % (1 << 64)


def skip_on_cpu(context):
    if context.is_cpu:
        pytest.skip("for GPUs: a CPU counts squares by marking from each node")


@given(
    data=st.data(),
    graph=any_multigraphs(6, 18, "RRS"),
    max_work=st.sampled_from([1, 1 << 20]),
    undirected=st.booleans(),
)
def test_squares_of_random_multigraphs(context, data, graph, max_work, undirected):
    skip_on_cpu(context)
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        first, together = data.draw(st.integers(0, graph.node_count)), data.draw(st.integers(1, 3))
        found = counted(context, workspace, graph, undirected, max_work, first, together)
        assert found == expected(graph, 0, undirected)


@pytest.mark.parametrize("undirected", [False, True])
@pytest.mark.parametrize("first", [0, 7, 40])
def test_long_lists_are_divided_among_teams(context, workspace, first, undirected):
    skip_on_cpu(context)
    pairs = Counter(map(tuple, np.random.default_rng(2).integers(0, 40, (300, 2)).tolist()))
    hub = Counter(pair for pair in product(range(40), repeat=2) if 0 in pair)
    some = [(one, "R", other, {}) for one, other in (pairs + hub).elements()]
    graph = make_graph([("", {})] * 40, some)
    found = counted(context, workspace, graph, undirected, 1 << 20, first, 3)
    assert found == expected(graph, 0, undirected) > 0
