"""Squares by their first node, against Python, which tries all relationships."""

import numpy as np
import pytest
from kernels.kernel_graphs import pack, random_graph, upload_any
from kernels.test_squares import CASES, NODES, expected_by_node, types_of

from gpugda.device.launch.cycles import SquareArrays, SquareSumKernels, cycle_words
from gpugda.device.launch.leaf_products import whole_sums

GROUPS = 3
BEFORE = 6
"""Number of words before the first sum, and of listed nodes before the first."""


def summed(context, workspace, graph, words, listed, max_work, node_masks, relationship_masks):
    arrays = upload_any(context, workspace, graph, relationship_masks)
    kernels = SquareSumKernels(context)
    scratch = workspace.upload(np.zeros(GROUPS * kernels.group_words(NODES), dtype=np.uint32))
    counters = workspace.upload(np.zeros(1, dtype=np.uint32))
    odd_ends = workspace.upload(np.full(2 * NODES, 7, dtype=np.uint64))
    nodes = workspace.upload(np.array([0] * BEFORE + listed, dtype=np.uint32))
    sums = workspace.upload(np.zeros(BEFORE + 3 * len(listed), dtype=np.uint32))
    matrix = workspace.upload(np.concatenate(node_masks or [np.zeros(1, dtype=np.uint32)]))
    uploaded = workspace.upload(np.array(words, dtype=np.uint32))
    square = SquareArrays(arrays, matrix, uploaded, nodes, BEFORE, len(listed), sums, BEFORE)
    tasks = -(-len(listed) // kernels.task_nodes(len(listed)))
    while int(workspace.download(counters)[0]) < tasks:
        kernels.sum(square, GROUPS, max_work, scratch, counters)
    kernels.correct(square, odd_ends)
    marks = workspace.download(scratch)
    marks = marks.reshape(GROUPS, -1)[:, :NODES] if context.is_cpu else marks
    assert not marks.any()
    found = workspace.download(sums)
    assert not found[:BEFORE].any()
    return whole_sums(found[BEFORE : BEFORE + 3 * len(listed)]).tolist()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("max_work", [1, 1 << 30])
@pytest.mark.parametrize("masked", [False, True])
def test_squares_are_summed_by_a_node(context, workspace, name, max_work, masked):
    graph, random = random_graph(NODES, seed=1), np.random.default_rng(4)
    directions, types, differ = CASES[name]
    rows, slots, masks = [None] * 4, [None] * 4, None
    candidates = np.ones((4, NODES), dtype=bool)
    if masked:
        rows, slots = [0, 1, 2, 3], [0, 1, 2, 3]
        candidates = random.random((4, NODES)) < 0.8
        masks = random.random((4, graph.relationship_count)) < 0.8
    links = types_of(directions, types)
    words = cycle_words(rows, slots, links, differ, has_loops=True, halves=False)
    listed = np.flatnonzero(candidates[0]).tolist()
    found = summed(
        context,
        workspace,
        graph,
        words,
        listed,
        max_work,
        [pack(each) for each in candidates] if masked else (),
        [pack(each) for each in masks] if masked else (),
    )
    each = expected_by_node(graph, directions, types, differ, candidates, masks)
    wanted = [each[node] for node in listed]
    assert found == wanted
    assert sum(wanted) > 0
