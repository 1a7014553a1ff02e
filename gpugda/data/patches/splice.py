"""Taking entries out of arrays and putting others in, at the cost of copying them.

What lies between two changes is copied in one piece, so that arrays with few changes are copied as
fast as memory allows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gpugda.data.patches.blocks import BLOCK_BITS, MIXED, moved_by_blocks
from gpugda.data.patches.rising import is_among, rising
from gpugda.data.patches.room import appended

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Splice"]

_Number = TypeVar(
    "_Number", np.uint16, np.uint32, np.uint16 | np.uint32, np.int32, np.int64, np.float64, np.bool_
)

_FEW = 4
"""With so many entries that come or go, numbers are compared with each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Splice:
    """Which entries of arrays of one length go, and where others come in.

    Args:
        count: Entries before.
        removed: ``int64``, rising: entries that go.
        places: ``int64``, never falling: the entry (or the end) before which each new one comes.
    """

    count: int
    removed: NDArray[np.int64]
    places: NDArray[np.int64]
    _pieces: list[tuple[int, int, int]] = field(default_factory=list, repr=False)
    _new_places: list[NDArray[np.int64]] = field(default_factory=list, repr=False)

    def __bool__(self) -> bool:
        return bool(len(self.removed) or len(self.places))

    @property
    def new_count(self) -> int:
        """Entries afterwards."""
        return self.count - len(self.removed) + len(self.places)

    @property
    def keeps_places(self) -> bool:
        """Whether nothing goes, and what is new comes at the end."""
        return not len(self.removed) and bool((self.places >= self.count).all())

    def new_places(self) -> NDArray[np.int64]:
        """``int64`` per new entry: where it lies afterwards; found once."""
        if not self._new_places:
            gone = self.removed.searchsorted(self.places)
            self._new_places.append(self.places - gone + np.arange(len(self.places)))
        return self._new_places[0]

    def moved(self, entries: NDArray[Any]) -> NDArray[np.int64]:
        """Where entries lie afterwards; of one that goes, where the next one lies."""
        entries = entries.astype(np.int64)
        entries -= self.removed.searchsorted(was := entries.copy())
        entries += self.places.searchsorted(was, side="right")
        return entries

    def applied(self, array: NDArray[_Number], added: Any) -> NDArray[_Number]:
        """The array afterwards; itself where nothing changes.

        The new entries of it may be written; the others may be the old array's own.

        Args:
            array: Of the entries before.
            added: The new entries, or one value for all of them.
        """
        if not self:
            return array
        if self.keeps_places:
            return appended(array, added, len(self.places))
        found = np.empty(self.new_count, dtype=array.dtype)
        for start, end, target in self._copied():
            found[target : target + end - start] = array[start:end]
        found[self.new_places()] = added
        return found

    def renumbered(self, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """As `moved`, for many entries that stay, as ``uint32``; themselves where none moves."""
        if not self or self.moves_none:
            return entries
        if len(self.removed) + len(self.places) <= _FEW:
            return self._moved_by_comparing(entries)
        return moved_by_blocks(entries, self._shifts(), self.moved)

    def _moved_by_comparing(self, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """As `renumbered`: with each place in turn, which takes less than a look-up an entry."""
        found = entries
        for place in self.places.tolist():
            found = found + (entries >= np.uint32(place))
        for place in self.removed.tolist():
            found = found - (entries > np.uint32(place))
        return found

    @property
    def moves_none(self) -> bool:
        """Whether all that stays, stays where it is."""
        first = self.places[0] if len(self.places) else self.count
        last = self.removed[0] if len(self.removed) else self.count
        return int(first) >= self.count and int(last) + len(self.removed) == self.count

    def _shifts(self) -> NDArray[np.int32]:
        """How far each block moves, `MIXED` where not all of it does alike."""
        firsts = np.arange(0, self.count + 1, 1 << BLOCK_BITS)
        shifts = (self.moved(firsts) - firsts).astype(np.int32)
        shifts[self.removed >> BLOCK_BITS] = MIXED
        shifts[self.places[self.places < self.count] >> BLOCK_BITS] = MIXED
        return shifts

    def _copied(self) -> list[tuple[int, int, int]]:
        """Start, end and new place of each piece that stays together; found once."""
        if not self._pieces:
            begin = np.zeros(1, dtype=np.int64)
            cuts = rising(begin, self.removed, self.removed + 1, self.places)
            ends = np.append(cuts[1:], self.count)
            stays = (cuts < ends) & ~is_among(cuts, self.removed)
            starts, ends = cuts[stays], ends[stays]
            targets = self.moved(starts)
            self._pieces.extend(zip(starts.tolist(), ends.tolist(), targets.tolist(), strict=True))
        return self._pieces
