"""Weights of data nodes, against products in NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs, ranked_lists
from kernels.vector_programs import by_rank

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.vector_weights import VectorWeightKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace


@given(
    graph=any_multigraphs(40, 60, "R"),
    sides=st.sampled_from([1, 2, 3]),
    more=st.sampled_from([0, 1, 1 << 8, 1 << 16, 2]),
    power=st.integers(1, 3),
)
def test_weights_of_trees_and_loops(context, graph, sides, more, power):
    matrix, count = by_rank(graph), graph.node_count
    loops = np.diag(matrix).copy()
    np.fill_diagonal(matrix, 0)
    ways = (matrix if sides & 1 else 0) + (matrix.T if sides & 2 else 0)
    times = matrix ** (more & 255) * matrix.T ** (more >> 8 & 255)
    times = times * (matrix + matrix.T) ** (more >> 16)
    device_graph = DeviceGraph(context, graph)
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        lists = ranked_lists(context, workspace, device_graph, 0)
        kernels = VectorWeightKernels(context)
        weights = workspace.allocate(2 * count, np.uint64)
        workspace.fill(weights, 1)
        of_ranks = workspace.upload(loops.astype(np.uint32))
        kernels.loops(of_ranks, count, power, 0, weights)
        kernels.pull(lists, sides, more, (0, 1), weights)
        found = workspace.download(weights)
    device_graph.close()
    assert found[:count].tolist() == (loops**power).tolist()
    assert found[count:].tolist() == ((ways * times) @ loops**power).tolist()
