"""Arrays with room behind them, in which the next ones are their own beginning and what came.

Nodes that are created come last nearly always. Copying all entries for them takes as long as there
are nodes, most of it for memory that is new. What an array shows is never written again: only who
is the first to go on from its end writes behind it, all others copy it.
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

_SPARE_SHARE = 16
"""One entry in so many is left free."""
_ROOM_FROM = 1 << 14
"""Entries of an array that is not copied as a whole each time."""


def appended(array: NDArray[_Number], added: Any, count: int) -> NDArray[_Number]:
    """The array with more entries behind it; the one given stays as it is.

    Args:
        array: Of the entries before.
        added: The new entries, or one value for all of them.
        count: How many they are.
    """
    size = len(array)
    room = _room_of(array)
    if room is None or not room.claim(size, size + count):
        if size < _ROOM_FROM:
            found = np.empty(size + count, dtype=array.dtype)
        else:
            found = _Room.of(size + count, array.dtype)
        found[:size] = array
    else:
        found = np.asarray(room)[: size + count]
    found[size:] = added
    return found


class _Room:
    """Memory of which a beginning is shown.

    Args:
        memory: All of it.
        used: So many entries are somebody's.
    """

    __slots__ = ("_lock", "_memory", "_used")

    def __init__(self, memory: NDArray[Any], used: int) -> None:
        self._memory, self._used = memory, used
        self._lock = threading.Lock()

    @classmethod
    def of(cls, size: int, kind: np.dtype[Any]) -> NDArray[Any]:
        """An array of so many entries with room behind it."""
        room = cls(np.empty(size + size // _SPARE_SHARE, dtype=kind), size)
        return np.asarray(room)[:size]

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """What NumPy makes an array of that holds this object."""
        return self._memory.__array_interface__

    def is_shown_by(self, array: NDArray[Any]) -> bool:
        """Whether the array is of the first entries, in their order."""
        whole, some = self._memory.__array_interface__, array.__array_interface__
        same = all(whole[key] == some[key] for key in ("data", "typestr", "strides"))
        return same and array.ndim == 1

    def claim(self, since: int, until: int) -> bool:
        """Takes the entries from the end on, if nobody has them and there are so many."""
        with self._lock:
            if self._used != since or until > len(self._memory):
                return False
            self._used = until
            return True


def _room_of(array: NDArray[Any]) -> _Room | None:
    """The room that an array lies in the beginning of, if any."""
    base = array.base
    owner: object = base.base if isinstance(base, np.ndarray) else None
    return owner if isinstance(owner, _Room) and owner.is_shown_by(array) else None
