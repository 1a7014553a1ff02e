"""Lists of higher-ranked neighbours, built from chunks, against sorting on the host."""

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.directory import RUN_STARTS
from gpugda.device.launch.ranked_lists import RankedKernels
from gpugda.device.launch.upward_lists import EntryChunk, UpwardKernels, UpwardSource
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

BITS = 8


def expected(graph, kind):
    """Per list, the ranks of higher neighbours, ascending; no self-loops."""
    chosen = graph.relationship_types() == kind
    starts, ends = graph.start_nodes()[chosen], graph.outgoing.neighbours[chosen]
    degrees = np.bincount(np.concatenate([starts, ends]), minlength=graph.node_count)
    order = sorted(range(graph.node_count), key=lambda node: (-degrees[node], node))
    ranks = np.argsort(np.array(order)).tolist()
    lists = [[] for _ in range(2 * graph.node_count)]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if start == end:
            continue
        one, other = ranks[start], ranks[end]
        lists[2 * one if one > other else 2 * other + 1].append(min(one, other))
    return [sorted(each) for each in lists]


@given(data=st.data(), chunk=st.sampled_from([1, 7, 100]), kind=st.sampled_from([0, 1]))
def test_upward_lists_of_random_multigraphs(context, data, chunk, kind):
    if context.is_cpu:
        pytest.skip("for GPUs")
    count = data.draw(st.integers(2, 40))
    node = st.integers(0, count - 1)
    types = data.draw(st.sampled_from(["R", "RRS"]))
    one = st.tuples(node, st.sampled_from(types), node, st.just({}))
    some = data.draw(st.lists(one, max_size=90))
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), *some])
    kind = min(kind, len(graph.types) - 1)
    wanted = expected(graph, kind)
    device_graph, budget = DeviceGraph(context, graph), MemoryBudget(1 << 40)
    directory = device_graph.directory_arguments(budget)
    total, lists = graph.relationship_count, 2 * count
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        _, ranks = RankedKernels(context).ranks(workspace, directory, kind, count, 2 * total)
        runs = directory[RUN_STARTS].count - 1
        source = UpwardSource(directory, kind, count, runs, ranks)
        entries = workspace.upload(graph.outgoing.neighbours)
        chunks = [
            EntryChunk(entries, first, first, min(chunk, total - first))
            for first in range(0, total, chunk)
        ]
        counts = workspace.upload(np.zeros(lists, dtype=np.uint32))
        kernels = UpwardKernels(context)
        for each in chunks:
            kernels.count(source, each, counts)
        assert workspace.download(counts).tolist() == [len(each) for each in wanted]
        first = data.draw(st.integers(0, lists - 1))
        last = data.draw(st.integers(first + 1, lists))
        numbers = workspace.upload(np.full(total, 1 << 63, dtype=np.uint64))
        written = workspace.upload(np.zeros(1, dtype=np.uint32))
        for each in chunks:
            kernels.pack(source, each, (first, last - first), BITS, written, numbers)
        found = sorted(workspace.download(numbers, 0, int(workspace.download(written)[0])).tolist())
        assert found == [
            (place << BITS) + each for place, some in enumerate(wanted[first:last]) for each in some
        ]
    device_graph.close()
