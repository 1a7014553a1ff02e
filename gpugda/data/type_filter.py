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
        type_count: Number of types of the graph.
    """

    def __init__(self, types: Collection[int], type_count: int) -> None:
        self._only = sorted(types) if len(types) <= _COMPARED else []
        self._allowed = np.zeros(max(type_count, 1), dtype=np.bool_)
        self._allowed[list(types)] = True

    def has(self, kinds: NDArray[Any]) -> NDArray[np.bool_]:
        """Per element, whether it is one of the types."""
        if not self._only:
            # All are types of the graph: mode="clip" only avoids NumPy's bounds check.
            return np.take(self._allowed, kinds, mode="clip")
        found: NDArray[np.bool_] = kinds == self._only[0]
        for each in self._only[1:]:
            found |= kinds == each
        return found

    def places(self, kinds: NDArray[Any]) -> NDArray[np.intp]:
        """Positions of the elements that are one of the types."""
        return np.flatnonzero(self.has(kinds))
