"""Creations and deletions over successive transactions, and the lifetimes of their ids."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["EntityEvents", "Lifetimes"]

_NEVER: Final = np.iinfo(np.int64).max
_TRUE: Final = np.ones(1, dtype=np.bool_)


@dataclass(frozen=True, slots=True, eq=False)
class EntityEvents:
    """Creations or deletions, in order of transactions.

    Args:
        steps: ``int64``: number of the transaction, counted in order.
        ids: ``int64``: ids of the nodes or relationships.
        sources: Start nodes, for relationships.
        targets: End nodes, for relationships.
        codes: Types, for relationships, as positions in the list of names.
    """

    steps: NDArray[np.int64]
    ids: NDArray[np.int64]
    sources: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    targets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    codes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))


class Lifetimes:
    """Lifetimes of the ids that were created or deleted.

    Attributes:
        new: Rows of the creations that last to the end, by increasing id.
        gone: Rows of the deletions of entities that existed before, by increasing id.
    """

    def __init__(self, created: EntityEvents, deleted: EntityEvents) -> None:
        self._is_empty = not len(created.ids) and not len(deleted.ids)
        if self._is_empty:
            self.new = self.gone = np.empty(0, dtype=np.intp)
            return
        ids = np.concatenate([created.ids, deleted.ids])
        # An id is deleted before it is reused, and by different transactions; an entity deleted and
        # created by the same one is ordered this way.
        steps = 2 * np.concatenate([created.steps, deleted.steps])
        steps[: len(created.ids)] += 1
        order = np.lexsort((steps, ids))
        sorted_ids = ids[order]
        starts = np.flatnonzero(np.concatenate([_TRUE, sorted_ids[1:] != sorted_ids[:-1]]))
        ends = np.append(starts[1:], len(ids)) - 1
        first, last = order[starts], order[ends]
        self.new = last[last < len(created.ids)]
        self.gone = first[first >= len(created.ids)] - len(created.ids)
        self._ids = sorted_ids[starts]
        # Events of an id count from its last creation on; those of a deleted one do not count.
        self._since = np.where(
            last < len(created.ids), np.concatenate([created.steps, deleted.steps])[last], _NEVER
        )
        self._new = last < len(created.ids)

    def counts(self, ids: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """``bool`` per event: True if it still applies to the entity with that id at the end."""
        if self._is_empty:
            return np.ones(len(ids), dtype=np.bool_)
        found, known = self._find(ids)
        return np.logical_or(np.logical_not(known), steps >= self._since[found])

    def is_new(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """``bool`` per id: True if the entity was created meanwhile."""
        if self._is_empty:
            return np.zeros(len(ids), dtype=np.bool_)
        found, known = self._find(ids)
        new: NDArray[np.bool_] = known & self._new[found]
        return new

    def _find(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        places = np.searchsorted(self._ids, ids)
        places[places == len(self._ids)] = 0
        return places, np.equal(self._ids[places], ids)
