"""Adjacency lists on the host: relationships by node, of given types, direction or properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import offsets_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Adjacency"]


@dataclass(frozen=True, slots=True, eq=False)
class Adjacency:
    """Adjacency lists of all nodes, concatenated in order of node index.

    Args:
        offsets: ``int64[n+1]``.
        neighbours: ``uint32`` per entry: node at the other end.
        relationships: ``uint32`` per entry: relationship index.
    """

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]

    @property
    def node_count(self) -> int:
        """Number of nodes, including those without entries."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return self.offsets.nbytes + self.neighbours.nbytes + self.relationships.nbytes

    @property
    def longest(self) -> int:
        """Number of entries of the node that has the most."""
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def owner_count(self) -> int:
        """Number of nodes that have entries."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    def entry_counts(self, nodes: NDArray[np.uint32]) -> NDArray[np.int64]:
        """Number of entries of each of the given nodes."""
        counts: NDArray[np.int64] = self.offsets[nodes + np.uint32(1)] - self.offsets[nodes]
        return counts

    def entry_count(self, nodes: NDArray[np.uint32]) -> int:
        """Number of entries of the given nodes together."""
        return int(self.entry_counts(nodes).sum())

    def nodes(self) -> NDArray[np.uint32]:
        """``uint32`` per entry: the node whose list holds the entry."""
        return np.repeat(np.arange(self.node_count, dtype=np.uint32), np.diff(self.offsets))

    def taken(self, kept: NDArray[np.bool_]) -> Adjacency:
        """The adjacency lists with only the entries where ``kept`` (``bool`` per entry) is True."""
        places = np.flatnonzero(kept)
        offsets = offsets_of(self.nodes()[places], self.node_count)
        return Adjacency(offsets, self.neighbours[places], self.relationships[places])

    def reversed(self) -> Adjacency:
        """The adjacency lists of the opposite direction: each entry moves to its other node."""
        order = np.argsort(self.neighbours, kind="stable")
        offsets = offsets_of(self.neighbours, self.node_count)
        return Adjacency(offsets, self.nodes()[order], self.relationships[order])
