"""Undirected triangles, against Python, which tries all relationships."""

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import entries as entries_of
from kernels.kernel_graphs import random_graph, upload_any

from gpugda.device.launch.cycles import CycleTasks, TriangleKernels, triangle_words

pytestmark = pytest.mark.one_split


def counted(context, workspace, graph, types, max_work, *, upwards=False):
    arrays = upload_any(context, workspace, graph)
    kernels, nodes = TriangleKernels(context), graph.node_count
    size = kernels.item_words(nodes, has_loops=True) * kernels.item_count
    tasks = CycleTasks.new(workspace, size, nodes, max_work, kernels.item_count)
    found = triangle_words(types, has_loops=not upwards, upwards=upwards)
    words = workspace.upload(np.array(found, dtype=np.uint32))
    while int(workspace.download(tasks.counters)[0]) < -(-nodes // kernels.task_nodes(nodes)):
        kernels.count(arrays, tasks.scratch, words, tasks)
    assert not workspace.download(tasks.scratch).any()
    return tasks.total(workspace)


def expected(graph, types):
    around = [entries_of(graph, node, 1, 1, types) for node in range(graph.node_count)]
    return sum(
        end == a and len({first, second, third}) == 3
        for a in range(graph.node_count)
        for b, first in around[a]
        for c, second in around[b]
        for end, third in around[c]
    )


@pytest.mark.parametrize("nodes", [1, 3, 33, 257])
@pytest.mark.parametrize("types", [(0,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("max_work", [1, 1 << 30])
def test_triangles_are_counted(context, workspace, nodes, types, max_work):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    graph = random_graph(nodes)
    wanted = expected(graph, types)
    assert counted(context, workspace, graph, types, max_work) == wanted
    assert wanted or nodes < 33


@pytest.mark.parametrize("nodes", [2, 33, 257])
@pytest.mark.parametrize("types", [(0,), (0, 1)])
@pytest.mark.parametrize("max_work", [1, 1 << 30])
def test_triangles_of_upper_neighbours_are_counted(context, workspace, nodes, types, max_work):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    random = np.random.default_rng(nodes)
    ends = np.sort(random.integers(0, nodes, (8 * nodes, 2)))
    ends = ends[ends[:, 0] < ends[:, 1]].tolist()
    kinds = ["R", "S", *random.choice(["R", "S", "T"], len(ends) - 2).tolist()]
    rows = [(a, kind, b, {}) for (a, b), kind in zip(ends, kinds, strict=True)]
    graph = make_graph([("", {})] * nodes, rows)
    around = [entries_of(graph, node, 1, 0, types) for node in range(nodes)]
    wanted = sum(
        end == c
        for a in range(nodes)
        for b, _ in around[a]
        for c, _ in around[b]
        for end, _ in around[a]
    )
    assert counted(context, workspace, graph, types, max_work, upwards=True) == wanted
    assert wanted or nodes < 33
