"""Programs of vectors on random multigraphs, against the products in NumPy."""

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs, ranked_lists
from kernels.vector_programs import any_terms, counted, expected, programs_of, run_on

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.vector_steps import ProgramShape
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace
from gpugda.match.count.program import VectorProgram
from gpugda.match.count.vectors import totals_of

END, FACTORS = 5, 4


@given(graph=any_multigraphs(7, 16, "R"), data=st.data(), shares=st.sampled_from([1, 3]))
@pytest.mark.parametrize("undirected", [True, False])
def test_programs_on_random_multigraphs(context, graph, data, shares, undirected):
    """On a CPU by ``vector_steps.cl``, on a GPU by ``vector_batches.cl``."""
    terms = data.draw(any_terms(undirected))
    programs, longest = programs_of(graph, terms, undirected)
    if programs is None:
        return
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found = counted(context, workspace, graph, programs, undirected, longest, shares)
    assert sum(found) == expected(graph, terms)


def test_totals_beyond_64_bits(context, workspace):
    graph = make_graph([("", {})] * 5, [(0, "R", each, {}) for each in range(1, 5)])
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0, undirected=True)
    weights = workspace.allocate(5, np.uint64)
    workspace.fill(weights, (1 << 63) + 1)
    words = np.array([END, 1, 0, 0, *[0] * FACTORS], dtype=np.uint32)
    shape = ProgramShape(0, 0, 1, below_only=False)
    program = VectorProgram(words, shape, (), (), (), (), (1,), 1, (), ())
    low, high = totals_of(run_on(workspace, device_graph), lists, program, weights, 4)
    device_graph.close()
    assert sum(low) + (sum(high) << 64) == 5 * ((1 << 63) + 1)
