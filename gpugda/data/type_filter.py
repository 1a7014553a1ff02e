"""Finds the runs of some relationship types, at the speed of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

__all__ = ["TypeFilter"]

_COMPARED: Final = 6
"""Up to this many types, comparisons with each are faster than looking types up in a table."""


class TypeFilter:
    """Some of a graph's types.

    Args:
        types: The type ids.
    """

    def __init__(self, types: Collection[int]) -> None:
        self._few = sorted(types) if len(types) <= _COMPARED else None
        # One more than the largest type, which stands for all types beyond.
        self._allowed = np.zeros(max(types, default=0) + 2, dtype=np.bool_)
        self._allowed[list(types)] = True

    def has(self, kinds: NDArray[Any]) -> NDArray[np.bool_]:
        """Per element, whether it is one of the types."""
        if self._few is None:
            return np.take(self._allowed, kinds, mode="clip")
        found = np.zeros(len(kinds), dtype=np.bool_)
        for each in self._few:
            found |= kinds == each
        return found

    def places(self, kinds: NDArray[Any]) -> NDArray[np.intp]:
        """Positions of the elements that are one of the types."""
        if self._few is not None and len(self._few) == 1:
            return np.flatnonzero(kinds == self._few[0])
        return np.flatnonzero(self.has(kinds))
