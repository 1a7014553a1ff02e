"""Numbers after those that they count went and came: each moves as far as its stretch."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.stretches import Origins

__all__ = ["Shifts"]

_BLOCK_BITS = 5
"""Numbers are moved by blocks of so many bits, but for those where a stretch begins."""
_PIECE = 1 << 16
"""Numbers that are moved together: as many as stay near the processor."""
_SHARED = 1 << 20
"""From so many numbers on, two threads move them."""
_MIXED = np.iinfo(np.int32).min


@dataclass(frozen=True, slots=True, eq=False)
class Shifts:
    """How far numbers move.

    Args:
        starts: ``int64``, rising: the first number of each stretch.
        amounts: ``int64``: how far it moves.
    """

    starts: NDArray[np.int64]
    amounts: NDArray[np.int64]

    @classmethod
    def of(cls, origins: Origins) -> Shifts:
        """Of numbers that count the entries of the older array; those that went move anywhere."""
        stays = origins.before >= 0
        starts = origins.places[stays]
        amounts = origins.starts[stays] - starts
        differs = np.ones(len(starts), dtype=np.bool_)
        differs[1:] = amounts[1:] != amounts[:-1]
        return cls(starts[differs], amounts[differs])

    def moved(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Where they are afterwards, of the same kind."""
        if not len(self.starts):
            return numbers
        found = numbers.astype(np.int64)
        found += self.amounts[np.searchsorted(self.starts, found, side="right") - 1]
        return found.astype(numbers.dtype)

    def moved_all(self, numbers: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
        """The same for many ``uint32`` numbers below the count."""
        table = self._table(count)
        found = np.empty_like(numbers)
        piece = partial(self._move, numbers, found, table)
        starts = range(0, len(numbers), _PIECE)
        if len(numbers) < _SHARED:
            for start in starts:
                piece(start)
        else:
            with ThreadPoolExecutor(2) as threads:
                list(threads.map(piece, starts, chunksize=4))
        return found

    def _move(
        self,
        numbers: NDArray[np.uint32],
        found: NDArray[np.uint32],
        table: NDArray[np.int32],
        start: int,
    ) -> None:
        some = numbers[start : start + _PIECE]
        blocks = (some >> np.uint32(_BLOCK_BITS)).astype(np.intp)
        shift = table.take(blocks, mode="clip")  # numbers that went may lie beyond
        target = found[start : start + _PIECE]
        np.add(some, shift.view(np.uint32), out=target)  # below 0 by going around
        mixed = np.flatnonzero(shift == _MIXED)
        if len(mixed):
            target[mixed] = self.moved(some[mixed])

    def _table(self, count: int) -> NDArray[np.int32]:
        """How far each block moves, `_MIXED` where not all of it does alike."""
        blocks = (count >> _BLOCK_BITS) + 1
        if not len(self.starts):
            return np.zeros(blocks, dtype=np.int32)
        inside = self.starts >> _BLOCK_BITS
        bounds = np.append(inside, blocks)
        bounds[0] = 0
        table = np.repeat(self.amounts.astype(np.int32), np.diff(bounds))
        table[inside] = _MIXED
        return table
