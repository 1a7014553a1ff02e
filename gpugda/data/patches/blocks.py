"""Renumbers many numbers by blocks: one table look-up each, unless a block moves unevenly."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.threads import in_threads, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["BLOCK_BITS", "MIXED", "moved_by_blocks"]

BLOCK_BITS: Final = 5
"""A block is 2^5 consecutive numbers."""
MIXED: Final = int(np.iinfo(np.int32).min)
"""Table entry of a block whose numbers do not all move by the same amount."""
_PIECE = 1 << 16
"""Numbers per piece, so that a piece stays in the processor's cache."""
_SHARED = 1 << 20
"""From this many numbers on, several threads work."""


def moved_by_blocks(
    numbers: NDArray[np.uint32],
    shifts: NDArray[np.int32],
    exactly: Callable[[NDArray[np.uint32]], NDArray[Any]],
) -> NDArray[np.uint32]:
    """The numbers after renumbering.

    Args:
        numbers: The numbers; those beyond the last block move as that block does.
        shifts: By how much each block moves, or `MIXED`.
        exactly: Renumbers the numbers of mixed blocks.
    """
    found = np.empty_like(numbers)
    move = partial(_move, numbers, found, shifts, exactly)
    pieces = pieces_of(len(numbers), _PIECE)
    if len(numbers) < _SHARED:
        for piece in pieces:
            move(piece)
    else:
        in_threads(move, pieces)
    return found


def _move(
    numbers: NDArray[np.uint32],
    found: NDArray[np.uint32],
    shifts: NDArray[np.int32],
    exactly: Callable[[NDArray[np.uint32]], NDArray[Any]],
    piece: slice,
) -> None:
    some, target = numbers[piece], found[piece]
    blocks = (some >> np.uint32(BLOCK_BITS)).astype(np.intp)
    shift = shifts.take(blocks, mode="clip")
    np.add(some, shift.view(np.uint32), out=target)  # negative shifts by wrap-around
    mixed = np.flatnonzero(shift == MIXED)
    if len(mixed):
        target[mixed] = exactly(some[mixed])
