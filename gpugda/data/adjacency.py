"""Relationships of each node, of some types, directions or properties, on the host."""

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
    """The entries of all nodes, one node's after the other's.

    Args:
        offsets: ``int64[n+1]``.
        neighbours: ``uint32`` node at the other end, per entry.
        relationships: ``uint32`` relationship index, per entry.
    """

    offsets: NDArray[np.int64]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]

    @property
    def node_count(self) -> int:
        """All nodes, also those without entries."""
        return len(self.offsets) - 1

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.offsets.nbytes + self.neighbours.nbytes + self.relationships.nbytes

    @property
    def longest(self) -> int:
        """Most entries of a node."""
        return int(np.diff(self.offsets).max(initial=0))

    @property
    def owner_count(self) -> int:
        """Nodes that have entries."""
        return int(np.count_nonzero(np.diff(self.offsets)))

    def entry_count(self, nodes: NDArray[np.uint32]) -> int:
        """Entries of some nodes."""
        return int((self.offsets[nodes + np.uint32(1)] - self.offsets[nodes]).sum())

    def nodes(self) -> NDArray[np.uint32]:
        """The node that each entry belongs to."""
        return np.repeat(np.arange(self.node_count, dtype=np.uint32), np.diff(self.offsets))

    def taken(self, kept: NDArray[np.bool_]) -> Adjacency:
        """With some of the entries."""
        places = np.flatnonzero(kept)
        offsets = offsets_of(self.nodes()[places], self.node_count)
        return Adjacency(offsets, self.neighbours[places], self.relationships[places])

    def reversed(self) -> Adjacency:
        """The same relationships, as entries of the nodes at their other ends."""
        order = np.argsort(self.neighbours, kind="stable")
        offsets = offsets_of(self.neighbours, self.node_count)
        return Adjacency(offsets, self.nodes()[order], self.relationships[order])
