"""The ids that a database server has given to the nodes and relationships of a data graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ExternalIds"]


@dataclass(slots=True, eq=False)
class ExternalIds:
    """Numeric ids by index, and what stands before them in element ids.

    Args:
        nodes: ``int64[n]``, rising, so that the order of indexes is the order of ids.
        relationships: ``int64[m]`` by relationship index, in no order.
        node_prefix: An element id is this and the numeric id.
        relationship_prefix: Likewise.
    """

    nodes: NDArray[np.int64]
    relationships: NDArray[np.int64]
    node_prefix: str
    relationship_prefix: str
    _order: NDArray[np.int64] | None = field(default=None, repr=False)

    def node_index(self, number: int) -> int:
        """The node with this id, -1 if there is none."""
        place = int(np.searchsorted(self.nodes, number))
        return place if place < len(self.nodes) and int(self.nodes[place]) == number else -1

    def relationship_index(self, number: int) -> int:
        """The relationship with this id, -1 if there is none."""
        if self._order is None:
            self._order = np.argsort(self.relationships, kind="stable")
        place = int(np.searchsorted(self.relationships, number, sorter=self._order))
        if place == len(self.relationships):
            return -1
        index = int(self._order[place])
        return index if int(self.relationships[index]) == number else -1

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        derived = 0 if self._order is None else self._order.nbytes
        return self.nodes.nbytes + self.relationships.nbytes + derived
