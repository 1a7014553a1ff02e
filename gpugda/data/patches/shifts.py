"""Renumbering after entries were removed and inserted: each stretch moves by one amount."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.blocks import BLOCK_BITS, MIXED, moved_by_blocks
from gpugda.types import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.stretches import Origins

__all__ = ["Shifts"]


@value(frozen=True, slots=True, eq=False)
class Shifts:
    """Piecewise constant shifts of numbers.

    Args:
        starts: ``int64``, increasing: first number of each stretch.
        amounts: ``int64``: shift of each stretch.
    """

    starts: NDArray[np.int64]
    amounts: NDArray[np.int64]

    @classmethod
    def of(cls, origins: Origins) -> Shifts:
        """Shifts of positions in the older array; the result for removed ones is undefined."""
        stays = origins.before >= 0
        starts = origins.places[stays]
        amounts = origins.starts[stays] - starts
        differs = np.ones(len(starts), dtype=np.bool_)
        differs[1:] = amounts[1:] != amounts[:-1]
        return cls(starts[differs], amounts[differs])

    def moved(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """The numbers after the shift, in the same dtype."""
        if not len(self.starts):
            return numbers
        found = numbers.astype(np.int64)
        found += self.amounts[np.searchsorted(self.starts, found, side="right") - 1]
        return found.astype(numbers.dtype)

    def moved_all(self, numbers: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
        """Like `moved`, for many ``uint32`` numbers below ``count``."""
        return moved_by_blocks(numbers, self._of_blocks(count), self.moved)

    def _of_blocks(self, count: int) -> NDArray[np.int32]:
        """Shift of each block, `MIXED` where a block's numbers move by different amounts."""
        blocks = (count >> BLOCK_BITS) + 1
        if not len(self.starts):
            return np.zeros(blocks, dtype=np.int32)
        inside = self.starts >> BLOCK_BITS
        bounds = np.append(inside, blocks)
        bounds[0] = 0
        table = np.repeat(self.amounts.astype(np.int32), np.diff(bounds))
        table[inside] = MIXED
        return table
