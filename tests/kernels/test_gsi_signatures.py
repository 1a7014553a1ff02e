"""Vertex signatures computed on the device, against counting keys one by one."""

from collections import Counter

import numpy as np
from gpugda_strategies.gsi.signatures import _hash
from gpugda_strategies.launch.gsi_signatures import SignatureKernels, SignatureTable
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.memory.buffers import MemoryBudget, Workspace

ANY = 0xFFFFFFFF
WORDS = 2


def keys_of(graph, node):
    """Count of each group's hits by a node's surroundings."""
    groups = Counter()
    starts, kinds = graph.start_nodes().tolist(), graph.relationship_types().tolist()
    for start, kind, end in zip(starts, kinds, graph.outgoing.neighbours.tolist(), strict=True):
        for here, there, direction in ((start, end, 1), (end, start, 2)):
            if here == node:
                first, last = graph.label_offsets[there : there + 2]
                for label in [*graph.label_ids[first:last].tolist(), ANY]:
                    for key in ((kind, direction), (kind, 3), (ANY, direction), (ANY, 3)):
                        groups[_hash(*key, label) * 16 * WORDS >> 32] += 1
    return groups


def expected(graph, node):
    words = [0] * WORDS
    for group, count in keys_of(graph, node).items():
        words[group // 16] |= (3 if count > 1 else 1) << 2 * (group % 16)
    return words


@given(data=st.data(), column_first=st.booleans())
def test_signatures_count_none_one_or_more(context, data, column_first):
    count = data.draw(st.integers(1, 5))
    labels = st.lists(st.sampled_from("AB"), unique=True).map(":".join)
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from("RS"), node, st.just({}))
    graph = make_graph(
        [(data.draw(labels), {}) for _ in range(count)], data.draw(st.lists(one, max_size=6))
    )
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        values = workspace.allocate(WORDS * count, np.uint32)
        workspace.fill(values, 0)
        table = SignatureTable(values, WORDS, count, column_first)
        columns = (graph.start_nodes(), graph.outgoing.neighbours, graph.relationship_types())
        uploaded = [workspace.upload(each) for each in columns]
        names = [workspace.upload(each) for each in (graph.label_offsets, graph.label_ids)]
        kernels = SignatureKernels(context)
        kernels.add(tuple(uploaded), graph.relationship_count, tuple(names), table)
        found = workspace.download(values)[: WORDS * count]
        rows = found.reshape(WORDS, count).T if column_first else found.reshape(count, WORDS)
        assert rows.tolist() == [expected(graph, each) for each in range(count)]


def test_candidates_without_a_required_bit_are_removed(context, workspace):
    signatures = np.array([0b0111, 0b0001, 0b1111, 0b0000], dtype=np.uint32)
    table = SignatureTable(workspace.upload(signatures), 1, 4, True)
    asked = workspace.upload(np.array([0b0001, 0b0111, 0], dtype=np.uint32))
    matrix = workspace.upload(np.array([0b1111, 0b1101, 0b1010], dtype=np.uint32))
    SignatureKernels(context).check(table, asked, 3, 1, matrix)
    assert workspace.download(matrix).tolist() == [0b0111, 0b0101, 0b1010]
