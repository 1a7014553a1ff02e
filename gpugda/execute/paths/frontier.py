"""Breadth-first searches from several nodes on the host, each with an array of depths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

import numpy as np

from gpugda.execute.entry_windows import entries_of, windows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency

    Indexes = NDArray[np.int64]

__all__ = ["SECONDS_PER_ENTRY", "Frontier", "new_depths", "shared_depths"]

_MAX_DEPTHS: Final = 1 << 24

SECONDS_PER_ENTRY: Final = 30e-9
"""Measured seconds per entry that a search reads."""


def new_depths(searches: int, node_count: int) -> NDArray[np.int32]:
    """Depths of that many searches, none of which has reached a node."""
    return np.full(searches * node_count, -1, dtype=np.int32)


def shared_depths(steps: Adjacency, searches: int) -> tuple[NDArray[np.int32], list[slice]]:
    """Depths for as many searches as fit, and which ones these are in turn."""
    node_count = max(steps.node_count, 1)
    size = max(1, min(_MAX_DEPTHS // node_count, searches))
    chunks = [slice(first, first + size) for first in range(0, searches, size)]
    return new_depths(size, node_count), chunks


class Frontier:
    """The newest nodes of searches; a key is number of the search * node count + node.

    A context manager, which restores the depths for the next searches.

    Args:
        steps: Adjacency that a search follows.
        nodes: For each search, the node where it begins.
        depths: See `new_depths`; may be longer than these searches need.

    Attributes:
        keys: The newest nodes, each once per search.
        depth: Their number of steps.
    """

    def __init__(
        self, steps: Adjacency, nodes: NDArray[np.uint32], depths: NDArray[np.int32]
    ) -> None:
        self.steps = steps
        self.node_count = max(steps.node_count, 1)
        self.degrees = np.diff(steps.offsets)
        self.depths = depths
        self.depth = 0
        self.keys: Indexes = np.arange(len(nodes)) * self.node_count + nodes
        self._touched = [self.keys]
        depths[self.keys] = 0

    @property
    def searches(self) -> Indexes:
        """The number of each key's search."""
        return self.keys // self.node_count

    @property
    def nodes(self) -> Indexes:
        """The node of each key."""
        return self.keys % self.node_count

    @property
    def work(self) -> int:
        """Number of entries that the next level reads."""
        return int(self.degrees[self.nodes].sum())

    def keep(self, active: NDArray[np.bool_]) -> None:
        """Continues only the searches in this mask."""
        self.keys = self.keys[active[self.searches]]

    def levels(self, check: Callable[[], None], most: float) -> Iterator[None]:
        """Grows while there are new nodes and fewer steps than ``most``; yields after each."""
        while len(self.keys) and self.depth < most:
            self.grow(check)
            yield

    def grow(self, check: Callable[[], None]) -> None:
        """Moves to the nodes not reached before; ``check`` raises when the deadline has passed."""
        found = [self.keys[:0]]
        searches, nodes = np.divmod(self.keys, self.node_count)
        for first, last in windows_of(self.degrees[nodes]):
            check()
            places, entries = entries_of(self.steps.offsets, nodes[first:last])
            places += first
            nodes_there = self.steps.neighbours[entries].astype(np.int64)
            there = searches[places] * self.node_count + nodes_there
            fresh = np.flatnonzero(self.depths[there] < 0)
            # Of equal keys, keep the one that wrote last.
            self.depths[there[fresh]] = fresh
            fresh = fresh[self.depths[there[fresh]] == fresh]
            self.depths[there[fresh]] = self.depth + 1
            found.append(there[fresh])
            self._stepped(self.keys[places], entries, there, fresh)
        self.depth += 1
        self.keys = np.concatenate(found)
        self._touched.append(self.keys)

    def _stepped(self, keys: Indexes, entries: Indexes, there: Indexes, fresh: Indexes) -> None:
        """Called for the steps of a window: from ``keys`` to ``there``; some of them are fresh."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for keys in self._touched:
            self.depths[keys] = -1
