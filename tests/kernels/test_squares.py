"""Squares, against Python, which tries all relationships."""

from itertools import combinations

import numpy as np
import pytest
from kernels.kernel_graphs import entries as entries_of
from kernels.kernel_graphs import pack, random_graph, upload_any

from gpugda.device.launch.cycles import CycleTasks, CycleType, SquareKernels, cycle_words

pytestmark = pytest.mark.one_split

NODES = 40
EVEN = (0, 2, 2, 0)
"""The even place of each link."""
ALL_DIFFER = list(combinations(range(4), 2))


def counted(context, workspace, graph, words, max_work, node_masks=(), relationship_masks=()):
    arrays = upload_any(context, workspace, graph, relationship_masks)
    kernels = SquareKernels(context)
    size = kernels.item_words(NODES, has_loops=True) * kernels.item_count
    tasks = CycleTasks.new(workspace, size, NODES, max_work, kernels.item_count)
    matrix = workspace.upload(np.concatenate(node_masks or [np.zeros(1, dtype=np.uint32)]))
    uploaded = workspace.upload(np.array(words, dtype=np.uint32))
    while int(workspace.download(tasks.counters)[0]) < -(-NODES // kernels.task_nodes(NODES)):
        kernels.count(arrays, matrix, uploaded, tasks)
    marks = workspace.download(tasks.scratch).reshape(kernels.item_count, -1)[:, :NODES]
    assert not marks.any()
    return tasks.total(workspace)


def expected(graph, directions, types, differ, candidates=None, masks=None):
    """Number of squares. Directions: (outgoing, incoming) of each link, from its even place."""
    return sum(expected_by_node(graph, directions, types, differ, candidates, masks))


def expected_by_node(graph, directions, types, differ, candidates=None, masks=None):
    """Number of squares for each node at the first place."""
    totals = [0] * NODES

    def fits(place, node):
        return candidates is None or candidates[place][node]

    def following(link, node):
        outgoing, incoming = directions[link]
        turned = EVEN[link] != link  # the link begins at its odd place
        ways = (incoming, outgoing) if turned else (outgoing, incoming)
        mask = None if masks is None else masks[link]
        return entries_of(graph, node, *ways, types[link], mask)

    for a in range(NODES):
        for b, first in following(0, a):
            for c, second in following(1, b):
                for d, third in following(2, c):
                    for end, fourth in following(3, d):
                        chosen = (first, second, third, fourth)
                        totals[a] += (
                            end == a
                            and all(fits(*each) for each in enumerate((a, b, c, d)))
                            and all(chosen[one] != chosen[other] for one, other in differ)
                        )
    return totals


def types_of(directions, types):
    found = []
    for kind in range(3):
        allowed = [types[link] is None or kind in types[link] for link in range(4)]
        starting = sum(1 << link for link in range(4) if allowed[link] and directions[link][0])
        ending = sum(1 << link for link in range(4) if allowed[link] and directions[link][1])
        found.append(CycleType(kind, starting, ending))
    return found


OUT, IN, BOTH = (1, 0), (0, 1), (1, 1)
CASES = {
    "directed": ([OUT, IN, OUT, IN], [None] * 4, ALL_DIFFER),
    "undirected": ([BOTH] * 4, [None] * 4, ALL_DIFFER),
    "two directions": ([OUT, OUT, BOTH, BOTH], [(0, 1), (0,), None, (1, 2)], ALL_DIFFER),
    "nothing differs": ([BOTH] * 4, [(0,), (0,), (0, 1), (1,)], []),
    "some differ": ([OUT, BOTH, BOTH, IN], [None] * 4, [(0, 3), (1, 2), (1, 3)]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("max_work", [1, 1 << 30])
@pytest.mark.parametrize("masked", [False, True])
def test_squares_are_counted(context, workspace, name, max_work, masked):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    graph, random = random_graph(NODES), np.random.default_rng(3)
    directions, types, differ = CASES[name]
    rows, slots, candidates, masks = [None] * 4, [None] * 4, None, None
    if masked:
        rows, slots = [0, 1, 2, 3], [0, 1, 2, 3]
        candidates = random.random((4, NODES)) < 0.8
        masks = random.random((4, graph.relationship_count)) < 0.8
    words = cycle_words(rows, slots, types_of(directions, types), differ, has_loops=True)
    found = counted(
        context,
        workspace,
        graph,
        words,
        max_work,
        [pack(each) for each in candidates] if masked else (),
        [pack(each) for each in masks] if masked else (),
    )
    wanted = expected(graph, directions, types, differ, candidates, masks)
    assert found == wanted > 0
