"""Records which nodes' relationships changed since earlier states of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.sorted_sets import sorted_distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NodeChanges", "with_bits"]

_MAX_STATES = 64
"""Maximum number of earlier states; what was cached for an older state is computed anew."""


class NodeChanges:
    """Changed nodes of one graph state since earlier states with the same node numbers.

    It identifies states by their `NodeChanges`, and does not keep graphs alive.
    """

    __slots__ = ("_state", "_steps")

    def __init__(self) -> None:
        self._state = object()
        self._steps: tuple[tuple[object, NDArray[np.int64]], ...] = ()  # newest first

    def followed(self, nodes: NDArray[np.int64]) -> NodeChanges:
        """The record of the next state.

        Args:
            nodes: Created nodes, and all that lost or gained relationships; old nodes keep their
                numbers.
        """
        found = NodeChanges()
        found._steps = ((self._state, nodes), *self._steps[: _MAX_STATES - 1])
        return found

    def knows(self, older: NodeChanges) -> bool:
        """True if `since` knows the nodes that changed since that state."""
        return older is self or any(state is older._state for state, _ in self._steps)

    def since(self, older: NodeChanges) -> NDArray[np.int64] | None:
        """Nodes created, or with relationships lost or gained, since; increasing; None: unknown.

        >>> import numpy as np
        >>> first = NodeChanges()
        >>> third = first.followed(np.array([5, 2])).followed(np.array([2]))
        >>> third.since(first), first.since(third)
        (array([2, 5]), None)
        """
        found = [np.empty(0, dtype=np.int64)]
        if older is self:
            return found[0]
        for state, nodes in self._steps:
            found.append(nodes)
            if state is older._state:
                return sorted_distinct(*found)
        return None


def with_bits(
    bits: NDArray[np.uint32], count: int, cleared: NDArray[np.int64], then_set: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """A copy of a bitmap, extended to ``count`` nodes, with some bits cleared, then some set."""
    found = np.zeros(-(-count // 32), dtype=np.uint32)
    found[: len(bits)] = bits
    np.bitwise_and.at(found, cleared >> 5, ~(np.uint32(1) << (cleared & 31).astype(np.uint32)))
    np.bitwise_or.at(found, then_set >> 5, np.uint32(1) << (then_set & 31).astype(np.uint32))
    return found
