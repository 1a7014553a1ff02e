"""Arrays with spare capacity behind them, so that appending copies nothing.

Created nodes nearly always come last. Copying all entries for them takes time linear in the number
of nodes, most of it for fresh memory. Visible entries are never written again: only the first
caller that appends at an array's end writes behind it, all others copy.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["appended"]

_Number = TypeVar(
    "_Number", np.uint16, np.uint32, np.uint16 | np.uint32, np.int32, np.int64, np.float64, np.bool_
)

_LENGTH_PER_SPARE = 16
"""The spare capacity is the length divided by this."""
_MIN_LENGTH = 1 << 14
"""From this length on an array gets spare capacity."""


def appended(array: NDArray[_Number], added: Any, count: int) -> NDArray[_Number]:
    """The array with entries appended; the given array does not change.

    Args:
        array: The entries before.
        added: The new entries, or one value for all of them.
        count: The number of new entries.
    """
    size = len(array)
    block = _block_of(array)
    if block is None or not block.claim(size, size + count):
        if size < _MIN_LENGTH:
            found = np.empty(size + count, dtype=array.dtype)
        else:
            found = _Block.of(size + count, array.dtype)
        found[:size] = array
    else:
        found = np.asarray(block)[: size + count]
    found[size:] = added
    return found


class _Block:
    """A memory block whose first entries are in use by arrays.

    Args:
        memory: The whole block.
        used: The number of entries in use.
    """

    __slots__ = ("_lock", "_memory", "_used")

    def __init__(self, memory: NDArray[Any], used: int) -> None:
        self._memory, self._used = memory, used
        self._lock = threading.Lock()

    @classmethod
    def of(cls, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """A new array of that size with spare capacity behind it."""
        block = cls(np.empty(size + size // _LENGTH_PER_SPARE, dtype=kind), size)
        return np.asarray(block)[:size]

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface: makes arrays that keep this object alive."""
        return self._memory.__array_interface__

    def is_prefix(self, array: NDArray[Any]) -> bool:
        """True if the array is a prefix of this block."""
        whole, some = self._memory.__array_interface__, array.__array_interface__
        same = all(whole[key] == some[key] for key in ("data", "typestr", "strides"))
        return same and array.ndim == 1

    def claim(self, since: int, until: int) -> bool:
        """Claims the entries ``since … until-1``; False if claimed already or beyond capacity."""
        with self._lock:
            if self._used != since or until > len(self._memory):
                return False
            self._used = until
            return True


def _block_of(array: NDArray[Any]) -> _Block | None:
    """The block of which the array is a prefix, if any."""
    base = array.base
    owner: object = base.base if isinstance(base, np.ndarray) else None
    return owner if isinstance(owner, _Block) and owner.is_prefix(array) else None
