"""Removal of entries from arrays and insertion of others, at the cost of copying the arrays.

Entries between two changes are copied in one piece, so that arrays with few changes are copied at
memory speed.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpugda.data.patches.blocks import BLOCK_BITS, MIXED, moved_by_blocks
from gpugda.data.patches.sorted_sets import is_in_sorted, sorted_distinct
from gpugda.data.patches.spare_capacity import appended
from gpugda.types import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Splice"]

_Number = TypeVar(
    "_Number", np.uint16, np.uint32, np.uint16 | np.uint32, np.int32, np.int64, np.float64, np.bool_
)

_FEW = 4
"""Up to this many inserted or removed entries, numbers are compared with each of them."""


@value(frozen=True, slots=True, eq=False)
class Splice:
    """Removed entries and insertion points, for arrays of one length.

    Args:
        count: The number of entries before.
        removed: ``int64``, increasing: the entries that are removed.
        places: ``int64``, non-decreasing: the entry (or the end) before which each new one goes.
    """

    count: int
    removed: NDArray[np.int64]
    places: NDArray[np.int64]
    _pieces: list[tuple[int, int, int]] = field(default_factory=list, repr=False)
    _new_places: list[NDArray[np.int64]] = field(default_factory=list, repr=False)

    def __bool__(self) -> bool:
        return bool(len(self.removed) or len(self.places))

    @property
    def size(self) -> int:
        """Number of entries removed and inserted."""
        return len(self.removed) + len(self.places)

    @property
    def new_count(self) -> int:
        """Number of entries after the splice."""
        return self.count - len(self.removed) + len(self.places)

    @property
    def only_appends(self) -> bool:
        """True if nothing is removed, and new entries are appended at the end."""
        return not len(self.removed) and bool((self.places >= self.count).all())

    def new_places(self) -> NDArray[np.int64]:
        """``int64`` per new entry: its position after the splice; cached."""
        if not self._new_places:
            gone = self.removed.searchsorted(self.places)
            self._new_places.append(self.places - gone + np.arange(len(self.places)))
        return self._new_places[0]

    def moved(self, entries: NDArray[Any]) -> NDArray[np.int64]:
        """Positions of entries after the splice; for a removed one, that of the next entry."""
        entries = entries.astype(np.int64)
        entries -= self.removed.searchsorted(was := entries.copy())
        entries += self.places.searchsorted(was, side="right")
        return entries

    def applied(self, array: NDArray[_Number], added: Any) -> NDArray[_Number]:
        """The array after the splice; itself if nothing changes.

        Its new entries may be written; the others may be shared with the old array.

        Args:
            array: The entries before.
            added: The new entries, or one value for all of them.
        """
        if not self:
            return array
        if self.only_appends:
            return appended(array, added, len(self.places))
        found = np.empty(self.new_count, dtype=array.dtype)
        for start, end, target in self._copied():
            found[target : target + end - start] = array[start:end]
        found[self.new_places()] = added
        return found

    def renumbered(self, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Like `moved`, for many ``uint32`` entries that stay; the input itself if none moves."""
        if not self or self.keeps_positions:
            return entries
        if len(self.removed) + len(self.places) <= _FEW:
            return self._moved_by_comparing(entries)
        return moved_by_blocks(entries, self._shifts(), self.moved)

    def _moved_by_comparing(self, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Like `renumbered`: one comparison per place, which is faster than a look-up per entry."""
        found = entries
        for place in self.places.tolist():
            found = found + (entries >= np.uint32(place))
        for place in self.removed.tolist():
            found = found - (entries > np.uint32(place))
        return found

    @property
    def keeps_positions(self) -> bool:
        """True if all entries that stay keep their positions."""
        first = self.places[0] if len(self.places) else self.count
        last = self.removed[0] if len(self.removed) else self.count
        return int(first) >= self.count and int(last) + len(self.removed) == self.count

    def _shifts(self) -> NDArray[np.int32]:
        """Shift of each block, `MIXED` where a block's entries move by different amounts."""
        firsts = np.arange(0, self.count + 1, 1 << BLOCK_BITS)
        shifts = (self.moved(firsts) - firsts).astype(np.int32)
        shifts[self.removed >> BLOCK_BITS] = MIXED
        shifts[self.places[self.places < self.count] >> BLOCK_BITS] = MIXED
        return shifts

    def _copied(self) -> list[tuple[int, int, int]]:
        """Start, end and new position of each piece copied as a whole; cached."""
        if not self._pieces:
            begin = np.zeros(1, dtype=np.int64)
            cuts = sorted_distinct(begin, self.removed, self.removed + 1, self.places)
            ends = np.append(cuts[1:], self.count)
            stays = (cuts < ends) & ~is_in_sorted(cuts, self.removed)
            starts, ends = cuts[stays], ends[stays]
            targets = self.moved(starts)
            self._pieces.extend(zip(starts.tolist(), ends.tolist(), targets.tolist(), strict=True))
        return self._pieces
