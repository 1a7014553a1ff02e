"""Searches for walks of each length from many nodes on the device, and reads them back."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gpugda.match.special.path_search import PathSearches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.device.launch.path_levels import PathRows
    from gpugda.device.memory.buffers import DeviceArray

    Indexes = NDArray[np.int64]
    Words = NDArray[np.uint32]

__all__ = ["DeviceWalks", "WalkSearches"]


class WalkSearches(PathSearches):
    """Searches that reach a node as often as walks do."""

    @contextmanager
    def walks(self, sources: Words) -> Iterator[DeviceWalks]:
        """Yields the walks from these nodes; releases the arrays at the end."""
        words = self.words_of(sources)
        with self._searching(sources, words, seen=False) as (levels, seen):
            with self._run.locked():
                reached = self._level(words)
                self._run.workspace.fill(reached, 0)
            try:
                yield DeviceWalks(self, levels, seen, reached, words)
            finally:
                self._run.workspace.release(reached)

    def grow(self, levels: list[DeviceArray], scratch: DeviceArray, words: int) -> bool:
        """Adds the ends of walks with one more relationship. Returns False if there are none."""
        with self._run.locked():
            self._run.workspace.fill(scratch, 0)
            return self._grow(levels, scratch, words)

    def reach(self, levels: list[DeviceArray], reached: DeviceArray, words: int) -> bool:
        """Adds nodes that the level after this one reaches first. Returns False if none."""
        with self._run.locked():
            fresh = list(levels)
            is_grown = self._grow(fresh, reached, words)
            self._run.workspace.release(*fresh[len(levels) :])
        return is_grown

    def met(self, level: DeviceArray, words: int, nodes: Indexes, searches: Indexes) -> Indexes:
        """Indexes of the (node, search) pairs that the level contains."""
        with self._run.locked():
            return np.flatnonzero(self._met(level, words, nodes, searches))

    def back(
        self, before: DeviceArray, words: int, nodes: Indexes, searches: Indexes, most: int
    ) -> Iterator[tuple[Indexes, Indexes, Words]]:
        """See `DeviceWalks.back`."""
        workspace = self._run.workspace
        with self._run.locked():
            rows: PathRows = self.reader.rows(nodes, searches)
        for longer in self.reader.steps_back(rows, before, words, most):
            arrays = longer.rows.nodes, longer.taken, longer.rows.searches
            with self._run.locked():
                starts, taken = (workspace.download(each) for each in arrays[:2])
                workspace.release(*arrays)
            yield longer.parents, starts.astype(np.int64), taken
        workspace.release(rows.nodes, rows.searches)


class DeviceWalks:
    """The walks from some sources. As `gpugda.execute.paths.selected_trails.Walks`."""

    def __init__(
        self,
        search: WalkSearches,
        levels: list[DeviceArray],
        scratch: DeviceArray,
        reached: DeviceArray,
        words: int,
    ) -> None:
        self._search = search
        self._levels = levels
        self._scratch = scratch
        self._reached = reached
        self._words = words
        self.is_closed = False

    @property
    def length(self) -> int:
        """Length of the longest walks."""
        return len(self._levels) - 1

    def grow(self) -> bool:
        """Extends the walks by one relationship. Returns False if none can be extended.

        Raises:
            MemoryLimitError: There is no room for them.
        """
        if not self.is_closed:
            self.is_closed = not self._search.reach(self._levels, self._reached, self._words)
        return self._search.grow(self._levels, self._scratch, self._words)

    def met(self, nodes: Indexes, searches: Indexes) -> Indexes:
        """Indexes of the pairs that the longest walks connect."""
        return self._search.met(self._levels[-1], self._words, nodes, searches)

    def back(
        self, length: int, nodes: Indexes, searches: Indexes, most: int
    ) -> Iterator[tuple[Indexes, Indexes, Words]]:
        """Yields steps back from the ends of walks of a length: rows, nodes and relationships.

        At most ``most`` per row, in windows.
        """
        before = self._levels[length]
        return self._search.back(before, self._words, nodes, searches, most)
