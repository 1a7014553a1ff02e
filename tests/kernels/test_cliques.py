"""Cliques counted from their lowest nodes, against enumerating all sets of nodes."""

from itertools import combinations

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import CliqueKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

pytestmark = pytest.mark.one_split

GROUPS = 3


def expected(pairs, nodes, size):
    joined = {frozenset(pair) for pair in pairs if pair[0] != pair[1]}
    return sum(
        all(frozenset(pair) in joined for pair in combinations(chosen, 2))
        for chosen in combinations(range(nodes), size)
    )


def counted(context, workspace, graph, size, max_work):
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0, undirected=True)
    kernels, nodes = CliqueKernels(context), graph.node_count
    words = GROUPS * kernels.group_words(lists)
    tasks = CycleTasks.new(workspace, words, nodes, max_work, GROUPS)
    workspace.fill(tasks.scratch, 0xFFFFFFFF)
    task_nodes = kernels.task_nodes(nodes)
    while int(workspace.download(tasks.counters)[0]) * task_nodes < nodes:
        kernels.count(lists, size, GROUPS, tasks)
    device_graph.close()
    return tasks.total(workspace)


@given(data=st.data(), max_work=st.sampled_from([1, 1 << 20]), size=st.sampled_from([4, 5]))
def test_cliques_of_random_graphs_with_loops(context, data, max_work, size):
    if context.is_cpu:
        pytest.skip("for GPUs")
    nodes = data.draw(st.integers(2, 9))
    possible = [(a, b) for a in range(nodes) for b in range(a + 1)]
    missing = data.draw(st.sets(st.sampled_from(possible), max_size=12))
    pairs = [pair for pair in possible if pair not in missing]
    turned = data.draw(st.integers(0, 3))
    ends = [pair[::-1] if number % 4 < turned else pair for number, pair in enumerate(pairs)]
    rows = [(0, "R", 0, {}), (0, "S", 1, {}), *[(a, "R", b, {}) for a, b in ends if a or b]]
    graph = make_graph([("", {})] * nodes, rows)
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found = counted(context, workspace, graph, size, max_work)
        assert found == expected(pairs, nodes, size)


@pytest.mark.parametrize("size", [4, 5])
def test_bitmaps_of_several_words(context, workspace, size):
    if context.is_cpu:
        pytest.skip("for GPUs")
    random, nodes = np.random.default_rng(size), 90
    pairs = [pair for pair in combinations(range(nodes), 2) if random.random() < 0.6]
    graph = make_graph([("", {})] * nodes, [(a, "R", b, {}) for a, b in pairs])
    joined = np.zeros((nodes, nodes), dtype=bool)
    joined[tuple(np.array(pairs).T)] = True
    total = 0
    for a, b in pairs:
        both = joined[a] & joined[b]
        for c in np.flatnonzero(both):
            last = both & joined[c]
            total += int(last.sum()) if size == 4 else int(joined[np.ix_(last, last)].sum())
    assert counted(context, workspace, graph, size, 1 << 20) == total > 0
