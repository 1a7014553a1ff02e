"""Many numbers move by blocks: one look-up each, except where not all of a block moves alike."""

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
"""The numbers of a block differ in so many low bits only."""
MIXED: Final = int(np.iinfo(np.int32).min)
"""The shift of a block whose numbers do not all move alike."""
_PIECE = 1 << 16
"""Numbers that are moved together: as many as stay near the processor."""
_SHARED = 1 << 20
"""From so many numbers on, the threads share them."""


def moved_by_blocks(
    numbers: NDArray[np.uint32],
    shifts: NDArray[np.int32],
    exactly: Callable[[NDArray[np.uint32]], NDArray[Any]],
) -> NDArray[np.uint32]:
    """Where the numbers are afterwards.

    Args:
        numbers: Those beyond the last block move as it does.
        shifts: How far each block moves, or `MIXED`.
        exactly: Moves the numbers of the mixed blocks.
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
    np.add(some, shift.view(np.uint32), out=target)  # below 0 by going around
    mixed = np.flatnonzero(shift == MIXED)
    if len(mixed):
        target[mixed] = exactly(some[mixed])
