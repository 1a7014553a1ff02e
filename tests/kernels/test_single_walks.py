"""Cycles with mostly single-valued links, against Python, which tries all relationships."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import pack, upload_query

from gpugda.device.launch.cycles import CycleType, SingleWalkKernels, cycle_words
from gpugda.device.launch.query_words import QueryRow
from gpugda.match.special.single_walks import pair_table, single_arrays, singles

NODES = 60
CREATOR, REPLY, KNOWS = 0, 1, 2


def a_graph():
    """A node has at most one creator and one reply target; two nodes may know each other often."""
    random = np.random.default_rng(7)
    rows = [(0, "CREATOR", 1, {}), (0, "REPLY", 2, {}), (1, "KNOWS", 2, {})]
    for kind in ("CREATOR", "REPLY"):
        for node in range(1, NODES):
            other = int(random.integers(0, NODES))
            if other != node and random.random() < 0.8:
                rows.append((node, kind, other, {}))
    for one, other in random.integers(0, NODES, (500, 2)).tolist():
        if one != other:
            rows.append((one, "KNOWS", other, {}))
    return make_graph([("", {})] * NODES, rows)


def ends_of(graph):
    sources = np.repeat(np.arange(NODES), np.diff(graph.outgoing.row_offsets))
    kinds = graph.relationship_types()
    return list(
        zip(sources.tolist(), kinds.tolist(), graph.outgoing.neighbours.tolist(), strict=True)
    )


@pytest.mark.one_in(4)
@pytest.mark.one_split
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("window", [NODES, 7])
@pytest.mark.parametrize("looked_up", [True, False])
def test_single_walks_are_counted(context, workspace, directed, masked, window, looked_up):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    graph = a_graph()
    ends = ends_of(graph)
    fits = np.ones((4, NODES), dtype=bool)
    if masked:
        fits = np.random.default_rng(2).random((4, NODES)) < 0.8
    arrays, _ = upload_query(context, workspace, graph, [QueryRow(0, (), None, (), ())])
    # 0 replies to 1, whose creator is 2, who knows 3, who is the creator of 0.
    types = [
        CycleType(CREATOR, 1 << 3, 1 << 1),
        CycleType(REPLY, 1 << 0, 0),
        CycleType(KNOWS, 1 << 2, 0 if directed else 1 << 2),
    ]
    rows = [0, 1, 2, 3] if masked else [None] * 4
    words = workspace.upload(
        np.array(cycle_words(rows, [None] * 4, types, [], has_loops=False), dtype=np.uint32)
    )
    matrix = workspace.upload(np.concatenate([pack(each) for each in fits]))
    ways = [(REPLY, True), (CREATOR, True), (CREATOR, True)]
    along = [workspace.upload(each) for each in single_arrays(graph, tuple(ways))]
    last = [(KNOWS, True)] if directed else [(KNOWS, True), (KNOWS, False)]
    pairs = workspace.upload(pair_table(graph, tuple(last if looked_up else ())))
    kernels = SingleWalkKernels(context)
    totals = workspace.upload(np.zeros(kernels.item_count, dtype=np.uint64))
    for first in range(0, NODES, window):
        nodes = (first, min(first + window, NODES))
        kernels.count(arrays, matrix, words, along, pairs, nodes, totals)
    expected = 0
    for zero, kind, one in ends:
        for other, closing, end in ends if kind == REPLY else ():
            if closing != KNOWS:
                continue
            for two, three in [(other, end)] if directed else [(other, end), (end, other)]:
                expected += (
                    (one, CREATOR, two) in ends
                    and (zero, CREATOR, three) in ends
                    and bool(fits[0, zero] and fits[1, one] and fits[2, two] and fits[3, three])
                )
    assert int(workspace.download(totals).sum(dtype=np.uint64)) == expected > 0


def test_nodes_with_several_relationships_are_detected():
    graph = make_graph(
        [("", {})] * 4, [(0, "R", 1, {}), (2, "R", 1, {}), (2, "S", 3, {}), (2, "S", 0, {})]
    )
    none = 0xFFFFFFFF
    assert singles(graph, 0, outgoing=True).tolist() == [1, none, 1, none]
    assert len(singles(graph, 0, outgoing=False)) == 0
    assert len(singles(graph, 1, outgoing=True)) == 0
    assert singles(graph, 1, outgoing=False).tolist() == [2, none, none, 2]
