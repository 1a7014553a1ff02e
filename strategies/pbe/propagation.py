"""Divides graphs that are too large for METIS, in a few passes of all cores.

Nodes are placed in the order of their degrees, the highest first: each goes to the partition that
has most of its neighbours so far, as long as there is room. Then label propagation moves nodes that
have more neighbours elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.runs import positions, repeated
from gpugda.data.threads import in_threads
from gpugda.deadline import check_deadline

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

    Votes = tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.int64]]

__all__ = ["MAX_PROPAGATED", "propagated"]

MAX_PROPAGATED: Final = 256
"""Maximum number of partitions: each node counts its neighbours by partition."""
_SLACK: Final = 1.03
"""A partition may exceed its share by this factor."""
_PASSES: Final = 3
_FIRST_BATCH: Final = 64
_BATCHES: Final = 64
"""Batches of nodes, at least; the nodes of one batch do not know of each other."""
_PIECE: Final = 1 << 20
"""Entries that a thread reads at once, in both directions, unless a node has more."""
_MAX_COUNTS: Final = 1 << 21
"""Counts of a piece: nodes times partitions."""


def propagated(graph: DataGraph, count: int, deadline: float | None) -> NDArray[np.uint16]:
    """The partition of each node; partitions have about the same number of relationships.

    Args:
        graph: The data graph.
        count: Number of partitions, at most `MAX_PROPAGATED`.
        deadline: ``time.monotonic()`` at which to give up.

    Raises:
        QueryTimeoutError: The deadline passed.
    """
    work = _Division(graph, count)
    nodes = graph.node_count
    work.place(np.argsort(-work.weights, kind="stable"), deadline)
    for _ in range(_PASSES):
        work.improve(np.arange(nodes), deadline)
    return work.of_node


class _Division:
    """Partitions that are being filled.

    Args:
        graph: The data graph.
        count: Number of partitions.

    Attributes:
        of_node: ``uint16``, the partition of each node; ``count`` for none yet.
        weights: ``int64``, the number of relationships of each node, and one.
    """

    def __init__(self, graph: DataGraph, count: int) -> None:
        self._csrs = graph.outgoing, graph.incoming
        self._count = count
        self.of_node = np.full(graph.node_count, count, dtype=np.uint16)
        self.weights = self._csrs[0].degrees().astype(np.int64) + self._csrs[1].degrees() + 1
        self._sizes = np.zeros(count + 1)
        self._sizes[count] = total = float(self.weights.sum())
        self._most = _SLACK * total / count

    def place(self, order: NDArray[np.int64], deadline: float | None) -> None:
        """Places all nodes, in this order."""
        for batch in self._batches(len(order), _FIRST_BATCH):
            check_deadline(deadline)
            nodes, targets, gains = self._votes(order[batch])
            self._move(nodes[gains > 0], targets[gains > 0], gains[gains > 0])
            left = nodes[self.of_node[nodes] == self._count]
            self._put(left, self._spread(self.weights[left]))

    def _spread(self, weights: NDArray[np.int64]) -> NDArray[np.intp]:
        """A partition for each of some nodes: the emptiest ones, or in proportion to their room."""
        if len(weights) <= self._count:
            return np.argsort(self._sizes[:-1], kind="stable")[: len(weights)]
        room = np.cumsum(np.maximum(self._most - self._sizes[:-1], 0))
        middles = np.cumsum(weights) - weights / 2
        middles *= room[-1] / max(int(weights.sum()), 1)
        return np.searchsorted(room, middles).clip(max=self._count - 1)

    def improve(self, order: NDArray[np.int64], deadline: float | None) -> None:
        """Moves nodes that have more neighbours in another partition, while there is room."""
        for batch in self._batches(len(order), len(order) // _BATCHES):
            check_deadline(deadline)
            nodes, targets, gains = self._votes(order[batch])
            self._move(nodes[gains > 0], targets[gains > 0], gains[gains > 0])

    def _batches(self, total: int, size: int) -> Iterator[slice]:
        """Batches of growing sizes."""
        first = 0
        while first < total:
            size = max(1, min(size, total // _BATCHES))
            yield slice(first, min(first + size, total))
            first, size = first + size, 2 * size

    def _votes(self, nodes: NDArray[np.int64]) -> Votes:
        """The nodes, the best partition of each, and how many neighbours more it has there."""
        work = np.cumsum(self.weights[nodes])
        most, first, pieces = max(1, _MAX_COUNTS // self._count), 0, []
        while first < len(nodes):
            done = int(work[first - 1]) if first else 0
            last = int(np.searchsorted(work, done + _PIECE, side="right"))
            last = max(first + 1, min(last, first + most))
            pieces.append(nodes[first:last])
            first = last
        found = in_threads(self._best, pieces)
        targets, gains = (np.concatenate(each) for each in zip(*found, strict=True))
        return nodes, targets, gains

    def _best(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        columns = self._count + 1
        counts = np.zeros(len(nodes) * columns, dtype=np.int64)
        bases = np.arange(0, len(counts), columns, dtype=np.int64)
        for csr in self._csrs:
            starts = csr.row_offsets[nodes]
            lengths = csr.row_offsets[nodes + 1] - starts
            places = repeated(bases, lengths)
            places += self.of_node[csr.neighbours[positions(starts, lengths)]]
            counts += np.bincount(places, minlength=len(counts))
        by_node = counts.reshape(-1, columns)
        by_node[:, -1] = 0  # neighbours without a partition
        room = np.maximum(self._most - self._sizes[:-1], 0)
        targets = (by_node[:, :-1] * (room / self._most)).argmax(axis=1)
        rows = np.arange(len(nodes))
        return targets, by_node[rows, targets] - by_node[rows, self.of_node[nodes]]

    def _move(
        self, nodes: NDArray[np.int64], targets: NDArray[np.intp], gains: NDArray[np.int64]
    ) -> None:
        """Moves nodes, those that gain most first, while there is room."""
        order = np.argsort(-gains, kind="stable")
        nodes, targets = nodes[order], targets[order]
        for target in np.unique(targets).tolist():
            some = nodes[targets == target]
            added = np.cumsum(self.weights[some])
            room = self._most - self._sizes[target]
            some = some[: int(np.searchsorted(added, room, side="right"))]
            self._put(some, np.full(len(some), target))

    def _put(self, nodes: NDArray[np.int64], targets: NDArray[np.intp]) -> None:
        weights, count = self.weights[nodes], self._count + 1
        self._sizes -= np.bincount(self.of_node[nodes], weights=weights, minlength=count)
        self._sizes += np.bincount(targets, weights=weights, minlength=count)
        self.of_node[nodes] = targets
