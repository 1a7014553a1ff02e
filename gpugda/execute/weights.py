"""How many rows a row stands for: products and sums that never wrap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.types import MOST_WEIGHT

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["product_of", "sum_of"]

_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)
_FEW: Final = 64
"""Added up by Python sooner than an array is made of them."""


def product_of(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Row by row; `MOST_WEIGHT` stands for all above, here and in what is given."""
    if int(one.max(initial=0)) * int(other.max(initial=0)) <= MOST_WEIGHT:
        return one * other
    most = np.uint64(MOST_WEIGHT)
    fits = (other == 0) | (one <= most // np.maximum(other, np.uint64(1)))
    return np.where(fits, one * other, most)


def sum_of(weights: NDArray[np.uint64]) -> int:
    """Of up to 2**32 weights, exactly: in two halves, neither of which wraps."""
    if len(weights) <= _FEW:
        return sum(weights.tolist())
    low = int((weights & _LOW).sum(dtype=np.uint64))
    return (int((weights >> _HALF).sum(dtype=np.uint64)) << 32) + low
