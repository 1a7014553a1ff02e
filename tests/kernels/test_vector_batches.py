"""Batches of pinned nodes whose lists are hash tables, against the products in NumPy."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs
from kernels.vector_programs import any_terms, counted, expected, programs_of, with_more_nodes

from gpugda.device.launch import vector_batches
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace
from gpugda.match.count import batches

MORE = 520
"""So many nodes that the few in a list are no large share of all."""


@given(graph=any_multigraphs(7, 16, "R"), data=st.data(), is_small=st.booleans())
@pytest.mark.parametrize("undirected", [True, False])
def test_hash_tables_on_random_multigraphs(context, graph, data, is_small, undirected):
    terms = data.draw(any_terms(undirected))
    programs, longest = programs_of(graph, terms, undirected)
    if programs is None:
        return
    alone = expected(graph, terms)
    of_one = expected(with_more_nodes(graph, 1), terms) - alone
    padded = with_more_nodes(graph, MORE)
    with (
        pytest.MonkeyPatch.context() as patched,
        Workspace(context, MemoryBudget(1 << 24)) as workspace,
    ):
        if is_small:
            patched.setattr(batches, "_BATCH_WORDS", 1 << 12)
            patched.setattr(vector_batches, "_HUBS", 3)
            patched.setattr(vector_batches, "_PLACE_NODES", 4)
        found = counted(context, workspace, padded, programs, undirected, longest)
    assert sum(found) == alone + MORE * of_one
