"""Sets of integers: distinct values of arrays, and bitmaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["has_nodes", "nodes_of", "unique_values"]

_Integer = TypeVar("_Integer", bound=np.integer)


def unique_values(values: NDArray[_Integer]) -> NDArray[_Integer]:
    """The distinct values, ascending.

    As `numpy.unique`, which since NumPy 2.3 fills a hash table: sorting is 2 to 165 times as fast.
    """
    found = np.sort(values, axis=None)
    is_first = np.ones(len(found), dtype=np.bool_)
    np.not_equal(found[1:], found[:-1], out=is_first[1:])
    return found[is_first]


def has_nodes(bits: NDArray[np.uint32], nodes: NDArray[Any]) -> NDArray[np.bool_]:
    """For each node, True if its bit is set."""
    found: NDArray[np.bool_] = (bits[nodes >> 5] >> (nodes & 31).astype(np.uint32)) & 1 != 0
    return found


def nodes_of(bits: NDArray[np.uint32]) -> NDArray[np.int64]:
    """The nodes whose bits are set, ascending."""
    words = bits.nonzero()[0]
    if not len(words):
        return words
    # NumPy finds what is true in one row of booleans several times as fast as in other arrays.
    flags = np.unpackbits(bits[words].view(np.uint8), bitorder="little").view(np.bool_)
    places = flags.nonzero()[0]
    found: NDArray[np.int64] = words[places >> 5] * 32 + (places & 31)
    return found
