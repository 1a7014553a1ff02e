"""The table of node signatures on the host, made and read segment by segment."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from gpugda_strategies.launch.sgsi_signatures import SignatureSegment

from gpugda.data.patches.patched import whole
from gpugda.data.runs import positions, repeated
from gpugda.data.threads import in_threads, in_threads_ahead, pieces_of, written_in_threads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda_strategies.launch.sgsi_signatures import SegmentSignatures
    from gpugda_strategies.sgsi.loader import SegmentLoader
    from gpugda_strategies.sgsi.memory import MemoryPlan
    from gpugda_strategies.sgsi.options import SgsiOptions
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.types import NameId

__all__ = ["SignatureTable", "make_table"]

_NONE = 0xFFFFFFFF
_PIECE = 1 << 20
"""Entries that are sent to the device at once."""
_ENTRY_BYTES = 10
_STARTS_HERE, _ENDS_HERE = 1, 2
_More: TypeAlias = "tuple[NDArray[np.int64], NDArray[np.uint32]]"
"""Further labels of neighbours, and the positions of their entries."""
_Columns: TypeAlias = "tuple[NDArray[np.uint32], NDArray[NameId], NDArray[np.uint32], _More | None]"
"""Owners, types, and first and further labels of neighbours, of a piece of entries."""


class SignatureTable:
    """Signatures of all data nodes: buckets of words, cut into segments of nodes.

    Args:
        values: ``uint32[words, nodes]``.
        options: Sizes, if given.

    Attributes:
        values: As above.
        options: As above.
    """

    def __init__(self, values: NDArray[np.uint32], options: SgsiOptions) -> None:
        self.values = values
        self.options = options

    def segments(self, rows: int, room: int) -> Iterator[tuple[int, int]]:
        """Yields the bounds of segments of at most ``room`` bytes, for ``rows`` query nodes."""
        count = self.values.shape[1]
        size = self.options.segment_nodes
        if size is None:
            per_node = 4 * self._bucket_words(room) + rows / 8
            size = _whole_words(room / per_node)
        yield from pairwise([*range(0, count, size), count])

    def _bucket_words(self, room: int) -> int:
        """All words if they fit; otherwise 1, so that unneeded words are not sent."""
        if self.options.bucket_words is not None:
            return self.options.bucket_words
        return len(self.values) if self.values.nbytes <= room else 1

    def buckets(self, asked: NDArray[np.uint32], room: int) -> Iterator[tuple[int, int]]:
        """Yields the bounds of each bucket of words that a query node needs."""
        words = len(self.values)
        size = self._bucket_words(room)
        for first, last in pairwise([*range(0, words, size), words]):
            if asked[:, first:last].any():
                yield first, last

    def loaded(
        self, loader: SegmentLoader, nodes: tuple[int, int], words: tuple[int, int]
    ) -> SignatureSegment:
        """A segment of a bucket on the device."""
        wanted = {"values": lambda: self.values[slice(*words), slice(*nodes)].reshape(-1)}
        found = loader.arrays((self, nodes, words), wanted)["values"]
        return SignatureSegment(found, nodes[1] - nodes[0], words[0], words[1] - words[0])


def make_table(
    run: Run, kernels: SegmentSignatures, plan: MemoryPlan, options: SgsiOptions
) -> NDArray[np.uint32]:
    """The signatures of all data nodes: ``uint32[words, nodes]``."""
    graph, words = run.graph.graph, options.lists.signature_words
    table = written_in_threads((words, graph.node_count), np.uint32)
    room = plan.segment_bytes + plan.places * 4
    size = options.segment_nodes or _whole_words(room / 2 / (4 * words))
    maker = _Maker(run, kernels, max(32, min(_PIECE, int(room / 2 / _ENTRY_BYTES) - 128)))
    sides = (_STARTS_HERE, graph.outgoing), (_ENDS_HERE, graph.incoming)
    for first, last in pairwise([*range(0, graph.node_count, size), graph.node_count]):
        values = run.workspace.allocate(words * (last - first), np.uint32, "node signatures")
        run.workspace.fill(values, 0)
        segment = SignatureSegment(values, last - first, 0, words)
        for direction, csr in sides:
            maker.add(segment, direction, csr, first)
        for word, row in enumerate(table):
            run.workspace.read(values, row[first:last], word * (last - first))
        run.workspace.release(values)
        if plan.is_tight:
            run.workspace.trim()
    return table


def _whole_words(nodes: float) -> int:
    """A multiple of 32, at least 32."""
    return max(32, int(nodes) // 32 * 32)


class _Maker:
    """Adds the surroundings of a segment's nodes, a piece of their entries at a time."""

    def __init__(self, run: Run, kernels: SegmentSignatures, piece: int) -> None:
        self._run = run
        self._graph: DataGraph = run.graph.graph
        self._kernels = kernels
        self._piece = piece
        self._first_labels, self._have_more = _first_labels(self._graph)

    def add(self, segment: SignatureSegment, direction: int, csr: Csr, first_node: int) -> None:
        low = int(csr.row_offsets[first_node])
        high = int(csr.row_offsets[first_node + segment.node_count])
        pieces = [
            slice(first, min(first + self._piece, high)) for first in range(low, high, self._piece)
        ]
        for owners, types, labels, more in in_threads_ahead(
            lambda piece: self._columns(csr, piece, first_node), pieces
        ):
            self._run.check_deadline()
            self._send(segment, direction, (owners, types, labels), adds_any=True)
            if more is not None:
                entries, others = more
                for at in range(0, len(entries), self._piece):
                    some = entries[at : at + self._piece]
                    columns = owners[some], types[some], others[at : at + self._piece]
                    self._send(segment, direction, columns, adds_any=False)

    def _columns(self, csr: Csr, piece: slice, first_node: int) -> _Columns:
        owners, types = csr.entries(piece)
        return owners - np.uint32(first_node), types, *self._labels(csr.neighbours[piece])

    def _labels(self, neighbours: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], _More | None]:
        """The first label of each neighbour; and the further ones, with their entries."""
        labels = self._first_labels.take(neighbours, mode="clip")
        if self._have_more is None:
            return labels, None
        extra = np.flatnonzero(self._have_more.take(neighbours, mode="clip"))
        offsets, some = whole(self._graph.label_offsets), neighbours[extra]
        firsts = offsets[some].astype(np.int64) + 1
        lengths = offsets[some + 1] - firsts
        label_ids = whole(self._graph.label_ids)[positions(firsts, lengths)]
        return labels, (repeated(extra, lengths), label_ids.astype(np.uint32))

    def _send(
        self,
        segment: SignatureSegment,
        direction: int,
        columns: tuple[NDArray[np.uint32], NDArray[NameId], NDArray[np.uint32]],
        *,
        adds_any: bool,
    ) -> None:
        workspace = self._run.workspace
        sent: list[DeviceArray] = [workspace.upload(each, "entries") for each in columns]
        entries = (sent[0], sent[1], sent[2])
        self._kernels.add(entries, len(columns[0]), direction, segment, adds_any=adds_any)
        workspace.release(*sent)


def _first_labels(graph: DataGraph) -> tuple[NDArray[np.uint32], NDArray[np.bool_] | None]:
    """The first label of each node, and which nodes have more; None if no node has."""
    offsets, ids = whole(graph.label_offsets), whole(graph.label_ids)
    labels = np.empty(graph.node_count, dtype=np.uint32)
    have_more = np.empty(graph.node_count, dtype=np.bool_)

    def read(piece: slice) -> bool:
        own = offsets[piece.start : piece.stop + 1]
        counts = np.diff(own)
        first, has_any = labels[piece], counts > 0
        first[:] = _NONE
        first[has_any] = ids[own[:-1][has_any]]
        np.greater(counts, 1, out=have_more[piece])
        return bool(have_more[piece].any())

    found = in_threads(read, pieces_of(graph.node_count, _PIECE))
    return labels, have_more if any(found) else None
