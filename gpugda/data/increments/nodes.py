"""Node numbers before and after changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.increments.changes import ChangesError
from gpugda.data.patches.sorted_sets import is_in_sorted
from gpugda.data.patches.splice import Splice
from gpugda.data.values.arrow_numbers import numpy_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.increments.changes import Changes

__all__ = ["NodeNumbers", "node_numbers"]


@dataclass(frozen=True, slots=True, eq=False)
class NodeNumbers:
    """Old and new numbers (indexes) of the nodes; both are in the order of ids.

    Args:
        splice: Removed nodes, and insertion points of new ones.
        old_ids: ``int64``, increasing, by old number.
        new_ids: ``int64``, increasing, by new number.
    """

    splice: Splice
    old_ids: NDArray[np.int64]
    new_ids: NDArray[np.int64]

    def old_of_ids(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Old numbers, -1 for ids that were absent."""
        return _found(self.old_ids, ids)

    def new_of_ids(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """New numbers, -1 for ids that are absent."""
        return _found(self.new_ids, ids)

    def old_numbers(self, news: NDArray[np.int64]) -> NDArray[np.int64]:
        """Old numbers of the given new ones, -1 for created nodes."""
        if not self.splice:
            return news.astype(np.int64)
        created = self.splice.new_places()
        came = np.searchsorted(created, news)
        is_new = came < len(created)
        is_new[is_new] = created[came[is_new]] == news[is_new]
        rest = news - came  # number among the nodes that stayed
        # Node number i among those that stayed has the old number i + removed nodes before it.
        kept_before = self.splice.removed - np.arange(len(self.splice.removed))
        found = rest + np.searchsorted(kept_before, rest, side="right")
        return np.where(is_new, -1, found)

    def limits(self, news: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first old number not before each new number; the old node count for the end."""
        if not self.splice:
            return news.astype(np.int64)
        inside = news < self.splice.new_count
        found = np.full(len(news), self.splice.count, dtype=np.int64)
        old_numbers = self.old_numbers(news[inside])
        created = np.searchsorted(self.splice.new_places(), news[inside])
        places = np.append(self.splice.places, 0)
        found[inside] = np.where(old_numbers >= 0, old_numbers, places[created])
        return found


def node_numbers(old_ids: NDArray[np.int64], changes: Changes) -> NodeNumbers:
    """Old and new numbers of the nodes.

    Raises:
        ChangesError: A deleted node is absent, or a created one exists already.
    """
    deleted = changes.deleted_nodes.astype(np.int64, copy=False)
    removed = _found(old_ids, deleted)
    if (removed < 0).any():
        raise ChangesError("a deleted node is missing")
    created = changes.created_nodes.ids
    ids = np.empty(0, dtype=np.int64) if created is None else numpy_numbers(created)
    ids = ids.astype(np.int64, copy=False)
    places = np.searchsorted(old_ids, ids)
    there = places < len(old_ids)
    there[there] = old_ids[places[there]] == ids[there]
    if not is_in_sorted(ids[there], deleted).all() or (ids[1:] <= ids[:-1]).any():
        raise ChangesError("a created node exists already")
    splice = Splice(len(old_ids), removed, places.astype(np.int64))
    return NodeNumbers(splice, old_ids, splice.applied(old_ids, ids))


def _found(ids: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    places: NDArray[np.int64] = ids.searchsorted(wanted).astype(np.int64, copy=False)
    there = places < len(ids)
    there[there] = ids[places[there]] == wanted[there]
    places[~there] = -1
    return places
