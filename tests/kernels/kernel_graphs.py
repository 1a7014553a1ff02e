"""Graphs and bitmaps for kernel tests, and the expected results."""

import numpy as np
from graphs import make_graph
from hypothesis import strategies as st

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.candidate_filter import FilterArrays
from gpugda.device.launch.query_words import QueryRow, write_query
from gpugda.device.launch.ranked_lists import RankedKernels
from gpugda.device.memory.buffers import MemoryBudget

SIZES = [1, 2, 31, 32, 33, 255, 256, 257, 2049]


def random_graph(nodes, seed=0):
    """About three relationships per node, with loops and parallel ones, and a hub."""
    random = np.random.default_rng(seed)
    count = 3 * nodes
    starts = random.integers(0, nodes, count)
    ends = np.where(random.random(count) < 0.1, starts, random.integers(0, nodes, count))
    ends[: nodes // 4] = nodes // 2
    types = random.integers(0, 3, count)
    rows = zip(starts.tolist(), types.tolist(), ends.tolist(), strict=True)
    labels = ["", "A", "B", "A:B"]
    return make_graph(
        [(labels[kind], {}) for kind in random.integers(0, 4, nodes)],
        [(start, "RST"[kind], end, {}) for start, kind, end in rows],
    )


@st.composite
def any_multigraphs(draw, max_nodes, max_relationships, types, first=((0, "R", 1, {}),)):
    """Graphs without labels and properties, with the relationships ``first`` and others."""
    count = draw(st.integers(2, max_nodes))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from(types), node, st.just({}))
    some = st.lists(one, max_size=max_relationships)
    return make_graph([("", {})] * count, [*first, *draw(some)])


def pack(bits):
    """Booleans as a bitmap."""
    words = np.zeros(-(-len(bits) // 32) * 4, dtype=np.uint8)
    packed = np.packbits(bits, bitorder="little")
    words[: len(packed)] = packed
    return words.view(np.uint32)


def unpack(words, count):
    return np.unpackbits(words.view(np.uint8), bitorder="little")[:count].astype(bool)


def upload_query(context, workspace, graph, rows, node_masks=(), relationship_masks=(), labels=()):
    device_graph = DeviceGraph(context, graph)
    budget = MemoryBudget(1 << 40)
    matrix, slots = device_graph.label_slots(labels, budget)
    assert [slots[label] for label in labels] == list(range(len(labels)))
    query = write_query(rows)
    arrays = FilterArrays(
        device_graph.csr_arguments(budget),
        workspace.upload(query.words),
        matrix,
        workspace.upload(np.concatenate(node_masks)) if node_masks else None,
        workspace.upload(np.concatenate(relationship_masks)) if relationship_masks else None,
        device_graph.words,
        device_graph.relationship_words,
        graph.node_count,
    )
    return arrays, query


def upload_any(context, workspace, graph, relationship_masks=()):
    """A query whose only node has no conditions."""
    rows = [QueryRow(0, (), None, (), ())]
    return upload_query(context, workspace, graph, rows, (), relationship_masks)[0]


def entries(graph, node, outgoing, incoming, types, mask=None, is_loop=False):
    """(other node, relationship index) of a node's matching relationships, in order."""
    found = []
    for csr, wanted, is_incoming in ((graph.outgoing, outgoing, 0), (graph.incoming, incoming, 1)):
        if not wanted:
            continue
        for entry in range(int(csr.row_offsets[node]), int(csr.row_offsets[node + 1])):
            index = int(csr.relationship_indexes[entry]) if is_incoming else entry
            other = int(csr.neighbours[entry])
            if types is not None and graph.relationship_types()[index] not in types:
                continue
            if (mask is not None and not mask[index]) or (is_loop and other != node):
                continue
            if not (is_incoming and outgoing and other == node):
                found.append((other, index))
    return found


def wrong(workspace, count, dtype=np.uint32):
    """A buffer with every bit set."""
    array = workspace.allocate(count, np.uint32 if dtype == np.uint32 else np.uint64)
    workspace.write(array, np.full(count, np.iinfo(dtype).max, dtype=dtype))
    return array


def ranked_lists(context, workspace, device_graph, kind, undirected=False, window=None):
    """Ranked lists of one type, or of any type (None); undirected ones maybe in windows."""
    arguments = device_graph.csr_arguments(MemoryBudget(1 << 40))
    graph = device_graph.graph
    counts = graph.node_count, graph.relationship_count
    kernels, given = RankedKernels(context), (workspace, arguments, kind, *counts)
    if window is not None:
        return kernels.made_in_windows(*given, window, lambda: None)
    return kernels.made(*given, undirected=undirected)
