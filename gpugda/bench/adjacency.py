"""Relationships of a node in both directions, for walks on a data graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["Adjacency"]


class Adjacency:
    """Access to the relationships of each node of a data graph.

    Args:
        graph: The data graph.
    """

    def __init__(self, graph: DataGraph) -> None:
        self.graph = graph
        self.starts = graph.start_nodes()
        self.ends = graph.outgoing.neighbours
        self._types = graph.relationship_types()
        self._from_incoming = graph.incoming.relationship_indexes

    def roots(self) -> NDArray[np.int64]:
        """Indexes of the nodes that have a relationship."""
        degrees = self.graph.outgoing.degrees() + self.graph.incoming.degrees()
        return np.flatnonzero(degrees)

    def tightness(self) -> NDArray[np.float64]:
        """Per node, the maximum number of its relationships with one node, itself included."""
        n = self.graph.node_count
        low = np.minimum(self.starts, self.ends).astype(np.int64)
        high = np.maximum(self.starts, self.ends).astype(np.int64)
        pairs, counts = np.unique(low * n + high, return_counts=True)
        most = np.zeros(n)
        np.maximum.at(most, pairs // max(n, 1), counts)
        np.maximum.at(most, pairs % max(n, 1), counts)
        return most

    def type_name(self, relationship: int) -> str:
        """The relationship's type."""
        return self.graph.types.names[int(self._types[relationship])]

    def around(self, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Relationships of a node in both directions (a loop twice), and their other ends."""
        out = np.arange(*self._row(self.graph.outgoing.row_offsets, node), dtype=np.int64)
        first, last = self._row(self.graph.incoming.row_offsets, node)
        into = self._incoming(first, last)
        others = np.concatenate([self.ends[out], self.starts[into]]).astype(np.int64)
        return np.concatenate([out, into]), others

    def among(self, nodes: Iterable[int]) -> NDArray[np.int64]:
        """Indexes of all relationships with both ends among these nodes, ascending."""
        members = np.array(sorted(nodes), dtype=np.int64)
        found = []
        for node in members.tolist():
            out = np.arange(*self._row(self.graph.outgoing.row_offsets, node), dtype=np.int64)
            found.append(out[np.isin(self.ends[out], members)])
        return np.concatenate(found)

    def _incoming(self, first: int, last: int) -> NDArray[np.int64]:
        if self._from_incoming is None:  # None: entry i is relationship i
            return np.arange(first, last, dtype=np.int64)
        return self._from_incoming[first:last].astype(np.int64)

    @staticmethod
    def _row(offsets: NDArray[np.uint32], node: int) -> tuple[int, int]:
        return int(offsets[node]), int(offsets[node + 1])
