"""Candidates on the host: filtered by label and predicate there, by signature on the device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.signatures import query_signatures

from gpugda.match.candidates.label_words import program_bits

if TYPE_CHECKING:
    from gpugda_strategies.launch.sgsi_signatures import SegmentSignatures
    from gpugda_strategies.sgsi.loader import SegmentLoader
    from gpugda_strategies.sgsi.signature_table import SignatureTable
    from numpy.typing import NDArray

    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["HostCandidates", "base_candidates", "filter_by_segments"]

_ALL = np.uint32(0xFFFFFFFF)


@dataclass(slots=True, eq=False)
class HostCandidates:
    """The candidates of all query nodes.

    Args:
        bits: Bitmap of the data nodes, per query node.
        node_count: Number of data nodes.
        counts: Number of candidates per query node.
    """

    bits: list[NDArray[np.uint32]]
    node_count: int
    counts: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.counts = [int(np.bitwise_count(each).sum(dtype=np.int64)) for each in self.bits]

    def count(self, position: int) -> int:
        """The number of a query node's candidates."""
        return self.counts[position]

    def listed(self, position: int) -> NDArray[np.uint32]:
        """A query node's candidates, ascending."""
        return _listed(self.bits[position], self.node_count)


def _listed(bits: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
    unpacked = np.unpackbits(bits.view(np.uint8), bitorder="little")[:count]
    return np.flatnonzero(unpacked).astype(np.uint32)


def base_candidates(run: Run, bound: BoundQuery, masks: Masks) -> HostCandidates:
    """The nodes that pass labels and predicates."""
    graph = run.graph
    every = np.full(graph.words, _ALL, dtype=np.uint32)
    rest = graph.graph.node_count % 32
    if rest:
        every[-1] = (1 << rest) - 1
    found: list[NDArray[np.uint32]] = []
    known: dict[object, NDArray[np.uint32]] = {(): every}
    for node in bound.nodes:
        if node.labels not in known:
            known[node.labels] = program_bits(node.labels, graph) & every
        bits = known[node.labels]
        mask = masks.nodes.get(node.position)
        found.append(bits if mask is None else bits & mask)
    return HostCandidates(found, graph.graph.node_count)


def filter_by_segments(
    run: Run,
    bound: BoundQuery,
    candidates: HostCandidates,
    table: SignatureTable,
    kernels: SegmentSignatures,
    loader: SegmentLoader,
    room: int,
) -> HostCandidates:
    """Filters candidates by signatures: all buckets of a segment, then the next segment.

    The results of the segments are combined on the host.
    """
    asked = query_signatures(
        bound, {node.position: node.position for node in bound.nodes}, table.options.lists
    ).reshape(len(bound.nodes), -1)
    rows = np.flatnonzero(asked.any(axis=1)).tolist()
    if not rows:
        return candidates
    own = asked[rows]
    bits = np.array([candidates.bits[row] for row in rows])
    uploaded = run.workspace.upload(own.reshape(-1), "signatures of query nodes")
    for first, last in table.segments(len(rows), room):
        run.check_deadline()
        words = slice(first // 32, -(-last // 32))
        if not bits[:, words].any():
            continue
        matrix = run.workspace.upload(bits[:, words].reshape(-1), "candidates")
        for bucket in table.buckets(own, room):
            segment = table.loaded(loader, (first, last), bucket)
            kernels.check(segment, (uploaded, own.shape[1]), len(rows), matrix)
        bits[:, words] = run.workspace.download(matrix).reshape(len(rows), -1)
        run.workspace.release(matrix)
    run.workspace.release(uploaded)
    found = list(candidates.bits)
    for row, left in zip(rows, bits, strict=True):
        found[row] = left
    return HostCandidates(found, candidates.node_count)
