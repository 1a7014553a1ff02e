"""Triangles counted from their lowest nodes, against enumerating all combinations."""

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs, ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import RankedTriangleKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

pytestmark = pytest.mark.one_split

CYCLES = 3 << 4 * 0b001 | 3 << 4 * 0b110
SIDES = 0x11111111


def expected(graph, weights, with_loops=False):
    """Sum over triangles of the product of their sides' relationships, weighted by kind."""
    count = graph.node_count
    between = np.zeros((count, count), dtype=np.int64)
    np.add.at(between, (graph.start_nodes(), graph.outgoing.neighbours), 1)
    loops = between.diagonal()
    degrees = between.sum(axis=0) + between.sum(axis=1)
    nodes = sorted(range(count), key=lambda node: (-degrees[node], node))
    total = 0
    for z in range(count):
        for y in range(z + 1, count):
            for x in range(y + 1, count):
                low, middle, high = nodes[x], nodes[y], nodes[z]
                for kind in range(8):
                    first = between.T if kind & 4 else between
                    second = between.T if kind & 2 else between
                    third = between.T if kind & 1 else between
                    ways = first[low, middle] * second[middle, high] * third[low, high]
                    times = int(loops[[low, middle, high]].sum()) if with_loops else 1
                    total += (weights >> 4 * kind & 15) * int(ways) * times
    return total


def counted(context, workspace, graph, weights, max_work, with_loops=False):
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0)
    kernels, nodes = RankedTriangleKernels(context), graph.node_count
    tasks = CycleTasks.new(workspace, 1, nodes, max_work, kernels.max_groups)
    loops = lists.loops if with_loops else None
    looks_up = max(graph.parallel_counts()) > 1
    while int(workspace.download(tasks.counters)[0]) * kernels.task_nodes(nodes) < nodes:
        kernels.count(lists, weights, tasks, loops, looks_up=looks_up)
    device_graph.close()
    return tasks.total(workspace)


@given(
    graph=any_multigraphs(7, 40, "R"),
    weights=st.sampled_from([CYCLES, SIDES, 6 * SIDES, 1, 5 << 12]),
    max_work=st.sampled_from([1, 1 << 20]),
    with_loops=st.booleans(),
)
def test_ranked_triangles_of_random_multigraphs(context, graph, weights, max_work, with_loops):
    if context.is_cpu:
        pytest.skip("for GPUs")
    with_loops = with_loops and graph.statistics.loop_counts[0] > 0
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found = counted(context, workspace, graph, weights, max_work, with_loops)
        assert found == expected(graph, weights, with_loops)


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [0, 1])
def test_filters_are_shared_by_ranks_of_large_graphs(context, workspace, parallel, monkeypatch):
    """Ranks beyond the filter's bits: two hubs share their bits with much lower nodes."""
    if context.is_cpu:
        pytest.skip("for GPUs")
    random = np.random.default_rng(parallel)
    nodes = 70_000
    low = np.arange(60_000, nodes)
    pairs = {(int(a), int(b)) for a, b in random.integers(0, 40, (400, 2)).tolist() if a != b}
    pairs |= {(int(v), int(random.integers(0, 40))) for v in low for _ in range(2)}
    pairs |= {(int(v), int(v) + 1) for v in low[:-1:2]}
    pairs |= {(v, v + 1) for v in range(40, 60_000)}
    rows = [(one, "R", other, {}) for one, other in sorted(pairs)]
    rows += rows[:500] * parallel
    graph = make_graph([("", {})] * nodes, rows)
    starts, ends = graph.start_nodes().astype(np.int64), graph.outgoing.neighbours.astype(np.int64)
    after = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        after.setdefault(start, []).append(end)
    paths = [(a, c) for a in after for b in after[a] for c in after.get(b, ())]
    expected = sum(after.get(c, []).count(a) for a, c in paths)
    assert counted(context, workspace, graph, CYCLES, 1 << 24) == expected > 0
