"""Products and sums of row weights that never overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.types import MAX_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["product_of", "sum_of"]

_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)
_FEW: Final = 64
"""Up to this many are summed in Python, which is faster than NumPy."""


def product_of(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Products row by row; `MAX_WEIGHT` stands for anything larger, in inputs and results."""
    if int(one.max(initial=0)) * int(other.max(initial=0)) <= MAX_WEIGHT:
        return one * other
    most = np.uint64(MAX_WEIGHT)
    fits = (other == 0) | (one <= most // np.maximum(other, np.uint64(1)))
    return np.where(fits, one * other, most)


def sum_of(weights: NDArray[np.uint64]) -> int:
    """Exact sum of up to 2**32 weights: in two halves, neither of which overflows."""
    if len(weights) <= _FEW:
        return sum(weights.tolist())
    low = int((weights & _LOW).sum(dtype=np.uint64))
    return (int((weights >> _HALF).sum(dtype=np.uint64)) << 32) + low
