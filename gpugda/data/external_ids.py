"""The ids that a database server has given to the nodes and relationships of a data graph."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ExternalIds", "are_distinct"]

_LARGEST = 2**63 - 1
_FLAGS_PER_ID = 8
"""Ids are marked in a table if it has at most so many entries an id; else they are sorted."""


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
    _order: NDArray[np.intp] | None = field(default=None, repr=False)

    def of(self, of_nodes: bool) -> NDArray[np.int64]:
        """The ids of the nodes, or of the relationships."""
        return self.nodes if of_nodes else self.relationships

    def index_of(self, number: int, *, of_nodes: bool) -> int:
        """The node or relationship with this id, -1 if there is none."""
        if not 0 <= number <= _LARGEST:
            return -1
        ids, order = self.of(of_nodes), None if of_nodes else self._relationship_order()
        place = int(np.searchsorted(ids, number, sorter=order))
        if place == len(ids):
            return -1
        index = place if order is None else int(order[place])
        return index if int(ids[index]) == number else -1

    def indexes_of_relationships(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The relationships with these ids, none twice; -1 where there is none.

        All ids are looked through once, which takes less than sorting them.
        """
        found = np.full(len(numbers), -1, dtype=np.int64)
        if len(numbers):
            indexes = np.flatnonzero(np.isin(self.relationships, numbers))
            order = np.argsort(numbers)
            places = np.searchsorted(numbers, self.relationships[indexes], sorter=order)
            found[order[places]] = indexes
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        derived = 0 if self._order is None else self._order.nbytes
        return self.nodes.nbytes + self.relationships.nbytes + derived

    def _relationship_order(self) -> NDArray[np.intp]:
        """Relationship indexes by rising id; sorted when one is first looked for.

        Two threads may both sort: they find the same.
        """
        if self._order is None:
            self._order = np.argsort(self.relationships)
        return self._order


def are_distinct(ids: NDArray[np.int64]) -> bool:
    """Whether no id is there twice; where ids are dense this takes a few milliseconds a million."""
    if len(ids) == 0:
        return True
    if int(ids.min()) >= 0 and int(ids.max()) < _FLAGS_PER_ID * len(ids) + 1024:
        seen = np.zeros(int(ids.max()) + 1, dtype=np.bool_)
        seen[ids] = True
        return int(np.count_nonzero(seen)) == len(ids)
    ordered = np.sort(ids)
    return not bool((ordered[1:] == ordered[:-1]).any())
