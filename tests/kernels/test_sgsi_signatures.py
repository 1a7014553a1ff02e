"""Signatures of a node segment, computed from entries, against GSI's; and candidates by words."""

import numpy as np
import pytest
from gpugda_strategies.launch.gsi_signatures import SignatureKernels, SignatureTable
from gpugda_strategies.launch.sgsi_signatures import SegmentSignatures, SignatureSegment
from kernels.kernel_graphs import pack, random_graph, unpack

NONE = 0xFFFFFFFF
WORDS = 3


@pytest.mark.parametrize("nodes", [1, 33, 300])
def test_signatures_equal_those_of_gsi(context, workspace, nodes):
    graph = random_graph(nodes)
    values = workspace.upload(np.zeros(WORDS * nodes, dtype=np.uint32))
    columns = (graph.start_nodes(), graph.outgoing.neighbours, graph.relationship_types())
    labels = [workspace.upload(each) for each in (graph.label_offsets, graph.label_ids)]
    SignatureKernels(context).add(
        tuple(workspace.upload(each) for each in columns),
        graph.relationship_count,
        tuple(labels),
        SignatureTable(values, WORDS, nodes, True),
    )
    expected = workspace.download(values)[: WORDS * nodes].reshape(WORDS, nodes)

    first = nodes // 3
    own = workspace.upload(np.zeros(WORDS * (nodes - first), dtype=np.uint32))
    segment = SignatureSegment(own, nodes - first, 0, WORDS)
    for direction, csr in ((1, graph.outgoing), (2, graph.incoming)):
        for entries, adds_any in entries_of(graph, csr, first):
            if entries:
                sent = [
                    workspace.upload(np.array(each, dtype=kind))
                    for each, kind in zip(
                        zip(*entries, strict=True), (np.uint32, np.uint16, np.uint32), strict=True
                    )
                ]
                SegmentSignatures(context).add(
                    tuple(sent), len(entries), direction, segment, adds_any=adds_any
                )
    found = workspace.download(own)[: WORDS * (nodes - first)].reshape(WORDS, nodes - first)
    assert np.array_equal(found, expected[:, first:])


def entries_of(graph, csr, first):
    """Owner, type and first label of each neighbour; then the other labels."""
    with_any, others = [], []
    nodes, types = csr.entry_nodes().tolist(), csr.entry_types().tolist()
    for owner, kind, neighbour in zip(nodes, types, csr.neighbours.tolist(), strict=True):
        if owner >= first:
            low, high = graph.label_offsets[neighbour : neighbour + 2]
            labels = graph.label_ids[low:high].tolist() or [NONE]
            with_any.append((owner - first, kind, labels[0]))
            others += [(owner - first, kind, each) for each in labels[1:]]
    return (with_any, True), (others, False)


@pytest.mark.parametrize("nodes", [1, 32, 100])
def test_candidates_have_all_required_bits_of_a_bucket(context, workspace, nodes):
    random = np.random.default_rng(nodes)
    signatures = random.integers(0, 16, (5, nodes)).astype(np.uint32)
    asked = random.integers(0, 4, (3, 5)).astype(np.uint32)
    candidates = random.random((3, nodes)) < 0.8
    matrix = workspace.upload(np.concatenate([pack(each) for each in candidates]))
    bucket = workspace.upload(np.ascontiguousarray(signatures[1:4]).reshape(-1))
    segment = SignatureSegment(bucket, nodes, 1, 3)
    uploaded = workspace.upload(asked.reshape(-1))
    SegmentSignatures(context).check(segment, (uploaded, 5), 3, matrix)
    words = workspace.download(matrix).reshape(3, -1)
    for row in range(3):
        has_all = ((signatures[1:4].T & asked[row, 1:4]) == asked[row, 1:4]).all(axis=1)
        assert np.array_equal(unpack(words[row], nodes), candidates[row] & has_all)
