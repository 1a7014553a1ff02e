"""R-MAT draws in threads; the same draws as a loop over whole arrays, whatever the number of threads."""

from __future__ import annotations

import numpy as np

from gpugda.data.threads import in_threads, pieces_of

__all__ = ["rmat_draws"]

_PIECE = 1 << 17
"""Draws of a piece: its arrays stay in the caches."""


def rmat_draws(
    drawn: int, scale: int, bounds: tuple[float, float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets, ``int64[drawn]``, of seed 1.

    Args:
        drawn: Number of draws.
        scale: Bits of a node's number; each takes a draw per relationship.
        bounds: Cumulated probabilities of the first three quadrants.
    """
    source, target = np.zeros(drawn, np.int64), np.zeros(drawn, np.int64)
    a, b, c = bounds

    def draw(piece: slice) -> None:
        numbers = np.random.PCG64(1)  # that of `default_rng(1)`; a float takes one step
        numbers.advance(piece.start)
        count = piece.stop - piece.start
        starts, ends = np.zeros(count, np.uint32), np.zeros(count, np.uint32)
        for _ in range(scale):
            quadrant = np.random.Generator(numbers).random(count)
            numbers.advance(drawn - count)
            last = quadrant >= c
            lower = quadrant >= b
            starts += starts + lower
            ends += ends + (((quadrant >= a) ^ lower) | last)
        source[piece], target[piece] = starts, ends

    in_threads(draw, pieces_of(drawn, _PIECE))
    return source, target
