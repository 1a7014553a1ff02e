"""Undirected triangles by node, against Python, which tries all relationships."""

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import entries as entries_of
from kernels.kernel_graphs import pack, upload_any

from gpugda.device.launch.cycles import (
    HigherNeighbours,
    Members,
    TriangleSumKernels,
    triangle_words,
)
from gpugda.device.launch.leaf_products import whole_sums
from gpugda.device.launch.primitives import PrefixSum

pytestmark = pytest.mark.one_split

ITEMS = 3
BEFORE = 6
"""Number of words before the first sum, and of listed nodes before the first."""


def summed(context, workspace, graph, types, rows, max_work):
    """Sums per member of the first of three candidate rows."""
    arrays, kernels = upload_any(context, workspace, graph), TriangleSumKernels(context)
    prefix_sum, words = PrefixSum(context), arrays.words

    def empty(count, dtype=np.uint32):
        return workspace.upload(np.zeros(max(count, 1), dtype=dtype))

    matrix = workspace.upload(np.concatenate([pack(each) for each in rows]))
    bits = empty(words)
    kernels.unite(matrix, words, (0, 1, 2), bits)
    assert (workspace.download(bits) == pack(rows[0] | rows[1] | rows[2])).all()
    ranks = prefix_sum.run(workspace, bits, 0, words, of_bits=True)
    triangle = workspace.upload(np.array(triangle_words(types, has_loops=False), dtype=np.uint32))
    members = Members(arrays, triangle, bits, ranks)
    count = int((rows[0] | rows[1] | rows[2]).sum())
    nodes, lengths, counts = empty(count), empty(count), empty(count)
    kernels.measure(members, nodes, lengths)
    starts = prefix_sum.run(workspace, lengths, 0, count)
    entries = empty(int(workspace.download(starts)[count]))
    higher = HigherNeighbours(count, starts, counts, entries)
    kernels.list_higher(members, nodes, lengths, higher)
    listed = np.flatnonzero(rows[0])
    given = workspace.upload(np.array([0] * BEFORE + listed.tolist(), dtype=np.uint32))
    scratch, counters = empty(ITEMS * kernels.item_words(count)), empty(1)
    while int(workspace.download(counters)[0]) < -(-count // kernels.task_members(count, ITEMS)):
        kernels.sum(higher, ITEMS, max_work, scratch, counters)
    sums = empty(BEFORE + 3 * len(listed))
    places = (given, BEFORE, len(listed)), (scratch, ITEMS), (sums, BEFORE)
    kernels.write(members, higher, *places)
    found = workspace.download(sums)
    assert not found[:BEFORE].any()
    return whole_sums(found[BEFORE : BEFORE + 3 * len(listed)]).tolist()


def without_loops(nodes):
    """No type may have loops, as they would be entries of the lists. Some are parallel."""
    random, count = np.random.default_rng(2), 6 * nodes
    # Dense among few nodes, which makes triangles.
    starts, ends = random.integers(0, nodes // 3 + 2, count), random.integers(0, nodes, count)
    kinds = random.integers(0, 3, count)
    kinds[:3] = 0, 1, 2
    ends = np.where(starts == ends, (ends + 1) % nodes, ends)
    rows = zip(starts.tolist(), kinds.tolist(), ends.tolist(), strict=True)
    return make_graph([("", {})] * nodes, [(a, "RST"[kind], b, {}) for a, kind, b in rows])


def expected(graph, types, members, listed):
    around = [entries_of(graph, node, 1, 1, types) for node in range(graph.node_count)]
    return [
        sum(
            end == a and bool(members[b] and members[c])
            for b, _ in around[a]
            for c, _ in around[b]
            for end, _ in around[c]
        )
        for a in listed
    ]


@pytest.mark.parametrize("nodes", [3, 33, 257])
@pytest.mark.parametrize("types", [(0,), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("max_work", [1, 1 << 30])
@pytest.mark.parametrize("share", [0.4, 1.0])
def test_triangles_are_summed_by_a_node(context, workspace, nodes, types, max_work, share):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    graph, random = without_loops(nodes), np.random.default_rng(nodes)
    rows = random.random((3, nodes)) < share
    members = rows.any(axis=0)
    found = summed(context, workspace, graph, types, rows, max_work)
    assert found == expected(graph, types, members, np.flatnonzero(rows[0]))
    assert sum(found) > 0 or nodes < 33


def test_no_members_give_no_sums(context, workspace):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    rows = np.zeros((3, 40), dtype=bool)
    assert summed(context, workspace, without_loops(40), (0,), rows, 1) == []
