"""Taking entries out of arrays and putting others in, at the cost of copying them.

What lies between two changes is copied in one piece, so that arrays with few changes are copied as
fast as memory allows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Splice"]

_Number = TypeVar("_Number", np.uint16, np.uint32, np.int32, np.int64, np.float64, np.bool_)

_BLOCK_BITS = 5
"""Entries are renumbered by blocks of so many bits, but for those where a change lies."""
_PIECE = 1 << 16
"""Entries that are renumbered together: as many as stay near the processor."""
_SHARED = 1 << 20
"""From so many entries on, two threads renumber."""
_DIRTY = np.iinfo(np.int32).min


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

    def __bool__(self) -> bool:
        return bool(len(self.removed) or len(self.places))

    @property
    def new_count(self) -> int:
        """Entries afterwards."""
        return self.count - len(self.removed) + len(self.places)

    def new_places(self) -> NDArray[np.int64]:
        """``int64`` per new entry: where it lies afterwards."""
        gone = np.searchsorted(self.removed, self.places)
        return self.places - gone + np.arange(len(self.places))

    def moved(self, entries: NDArray[Any]) -> NDArray[np.int64]:
        """Where entries lie afterwards; of one that goes, where the next one lies."""
        entries = entries.astype(np.int64)
        gone = np.searchsorted(self.removed, entries)
        return entries - gone + np.searchsorted(self.places, entries, side="right")

    def applied(self, array: NDArray[_Number], added: Any) -> NDArray[_Number]:
        """The array afterwards; itself where nothing changes.

        Args:
            array: Of the entries before.
            added: The new entries, or one value for all of them.
        """
        if not self:
            return array
        found = np.empty(self.new_count, dtype=array.dtype)
        for start, end, target in self._copied():
            found[target : target + end - start] = array[start:end]
        found[self.new_places()] = added
        return found

    def renumbered(self, entries: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """As `moved`, for many entries that stay, as ``uint32``; themselves where none moves."""
        if not self or self.moves_none:
            return entries
        shifts = self._shifts()
        found = np.empty_like(entries)
        piece = partial(self._renumber, entries, found, shifts)
        starts = range(0, len(entries), _PIECE)
        if len(entries) < _SHARED:
            for start in starts:
                piece(start)
        else:
            with ThreadPoolExecutor(2) as threads:
                list(threads.map(piece, starts, chunksize=4))
        return found

    @property
    def moves_none(self) -> bool:
        """Whether all that stays, stays where it is."""
        first = self.places[0] if len(self.places) else self.count
        last = self.removed[0] if len(self.removed) else self.count
        return int(first) >= self.count and int(last) + len(self.removed) == self.count

    def _renumber(
        self,
        entries: NDArray[np.uint32],
        found: NDArray[np.uint32],
        shifts: NDArray[np.int32],
        start: int,
    ) -> None:
        some = entries[start : start + _PIECE]
        shift = shifts.take((some >> np.uint32(_BLOCK_BITS)).astype(np.intp))
        target = found[start : start + _PIECE]
        np.add(some, shift.view(np.uint32), out=target)  # below 0 by going around
        dirty = np.flatnonzero(shift == _DIRTY)
        if len(dirty):
            target[dirty] = self.moved(some[dirty])

    def _shifts(self) -> NDArray[np.int32]:
        """How far each block moves, `_DIRTY` where not all of it does alike."""
        firsts = np.arange(0, self.count + 1, 1 << _BLOCK_BITS)
        shifts = (self.moved(firsts) - firsts).astype(np.int32)
        shifts[self.removed >> _BLOCK_BITS] = _DIRTY
        shifts[self.places[self.places < self.count] >> _BLOCK_BITS] = _DIRTY
        return shifts

    def _copied(self) -> list[tuple[int, int, int]]:
        """Start, end and new place of each piece that stays together; found once."""
        if not self._pieces:
            cuts = np.unique(np.concatenate([[0], self.removed, self.removed + 1, self.places]))
            ends = np.append(cuts[1:], self.count)
            stays = (cuts < ends) & np.logical_not(np.isin(cuts, self.removed))
            starts, ends = cuts[stays], ends[stays]
            targets = self.moved(starts)
            self._pieces.extend(zip(starts.tolist(), ends.tolist(), targets.tolist(), strict=True))
        return self._pieces
