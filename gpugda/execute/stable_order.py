"""Stable sort order of rows by integer keys.

NumPy sorts 64-bit numbers several times as fast as it argsorts them, so the row number is packed
below the key and both are sorted as one number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["stable_order", "stable_order_of_keys"]

_BITS: Final = 64
_SHORT: Final = 1 << 16
_FEW: Final = 1 << 10


def stable_order(key: NDArray[Any]) -> NDArray[np.int64]:
    """Row numbers sorted by a key of signed integers."""
    count = len(key)
    if count <= _FEW:
        return np.argsort(key, kind="stable")
    low = int(key.min())
    spread = int(key.max()) - low
    if spread < _SHORT:
        # NumPy argsorts 16-bit numbers by radix sort.
        return np.argsort((key - key.dtype.type(low)).astype(np.uint16), kind="stable")
    # Differences of extreme values wrap to the right unsigned numbers.
    rising = key.astype(np.uint64) - np.int64(low).astype(np.uint64)
    return _packed(rising, spread.bit_length())


def stable_order_of_keys(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Row numbers sorted by several keys, the most significant first."""
    if len(keys) == 1:
        return stable_order(keys[0])
    if len(keys[0]) <= _FEW:
        return np.lexsort(list(keys)[::-1])
    order: NDArray[np.int64] | None = None
    for key in reversed(_side_by_side(keys)):  # the least significant first
        order = stable_order(key) if order is None else order[stable_order(key[order])]
    assert order is not None
    return order


def _side_by_side(keys: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Combines adjacent keys into one number where both fit beside the row number."""
    room = _BITS - (len(keys[0]) - 1).bit_length()
    made: list[NDArray[Any]] = []
    used = _BITS
    for key in keys:
        low = int(key.min())
        bits = (int(key.max()) - low).bit_length()
        if used + bits <= room:
            # Below 2^63, so the sign bit stays clear.
            made[-1] = (made[-1] << np.int64(bits)) | (key.astype(np.int64) - low)
            used += bits
            continue
        rising = bits < _BITS
        made.append(key.astype(np.int64) - low if rising else key)
        used = bits
    return made


def _packed(rising: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    count = len(rising)
    row_bits = (count - 1).bit_length()
    dropped = np.uint64(max(0, bits + row_bits - _BITS))
    behind = np.uint64(row_bits)
    packed = (rising >> dropped) << behind
    packed |= np.arange(count, dtype=np.uint64)
    packed.sort()
    order = (packed & ((np.uint64(1) << behind) - np.uint64(1))).astype(np.int64)
    if dropped:
        packed >>= behind
        _sort_ties(order, packed, rising)
    return order


def _sort_ties(
    order: NDArray[np.int64], tops: NDArray[np.uint64], rising: NDArray[np.uint64]
) -> None:
    """Reorders rows that agree in the sorted bits but differ in the dropped ones."""
    sorted_keys = rising[order]
    if not (sorted_keys[1:] < sorted_keys[:-1]).any():
        return
    same = tops[1:] == tops[:-1]
    places = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    rows = order[places]
    order[places] = rows[np.lexsort([rows, rising[rows], tops[places]])]
