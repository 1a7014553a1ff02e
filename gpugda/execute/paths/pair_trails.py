"""The k shortest trails of each pair of nodes: chooses the device or the host for the walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.execute.paths.compact import compacted
from gpugda.execute.paths.host_walks import HostWalks, walks_that_fit
from gpugda.execute.paths.selected_trails import TrailsAsked, selected_trails
from gpugda.execute.paths.shared_searches import host_seconds
from gpugda.execute.paths.trails import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.paths.device_searches import DeviceSearches
    from gpugda.execute.paths.selected_trails import Walks

    Indexes = NDArray[np.int64]
    Nodes = NDArray[np.uint32]

__all__ = ["PairTrails"]


@dataclass(frozen=True, slots=True, eq=False)
class PairTrails:
    """The trails needed of each pair.

    Args:
        bounds: Fewest and most relationships; None for no bound.
        most: Number of trails, or of lengths.
        by_group: True if ``most`` counts lengths, each with all of its trails.
        check: Called often; raises when the deadline has passed.
        device: Device searches, used if they are faster; None for the host only.
    """

    bounds: tuple[int, int | None]
    most: int
    by_group: bool
    check: Callable[[], None]
    device: DeviceSearches | None = None

    def of(
        self, steps: Adjacency, backwards: Adjacency, starts: Nodes, ends: Nodes
    ) -> Generator[Level, None, Indexes]:
        """Yields the trails; returns the pairs without results, which need another search.

        Args:
            steps: Adjacency that a step follows.
            backwards: The same relationships, reversed.
            starts: First nodes.
            ends: Last nodes, one per first node.
        """
        compact = compacted(steps)
        some = np.arange(len(starts))
        one, other = starts, ends
        if compact is not None:
            numbers = compact.numbers
            some = np.flatnonzero((numbers[starts] >= 0) & (numbers[ends] >= 0))
            one, other = (numbers[each[some]].astype(np.uint32) for each in (starts, ends))
            steps, backwards = compact.steps, compact.renumbered(backwards)
        found = self._walked(steps, backwards, one, other)
        left = yield from _numbered(found, some, ends)
        if self.bounds[0] == 0:
            closed = starts == ends
            closed[some[left]] = False
            empty = np.flatnonzero(closed)
            yield Level(empty, ends[empty], np.zeros((len(empty), 0), dtype=np.uint32))
        return some[left]

    def _walked(
        self, steps: Adjacency, backwards: Adjacency, starts: Nodes, ends: Nodes
    ) -> Generator[Level, None, Indexes]:
        few_ends = len(unique_values(ends)) < len(unique_values(starts))
        one, other = (ends, starts) if few_ends else (starts, ends)
        pulled = steps if few_ends else backwards
        sources, source_of = np.unique(one, return_inverse=True)
        minimum, maximum = self.bounds
        bounds = minimum, len(steps.neighbours) if maximum is None else maximum
        begun = ((starts == ends) & (minimum == 0)).astype(np.int64)
        left, done = [np.zeros(0, dtype=np.int64)], np.zeros(len(starts), dtype=np.bool_)
        for first, count, walks in self._opened(pulled, sources, len(starts)):
            rows = np.flatnonzero((source_of >= first) & (source_of < first + count))
            done[rows] = True
            numbers, nodes = source_of[rows] - first, other[rows].astype(np.int64)
            asked = TrailsAsked(numbers, nodes, bounds, self.most, self.by_group, begun[rows])
            found, waiting = selected_trails(walks, asked, self.check)
            left.append(rows[waiting])
            for pairs, walked in found:
                # Trails are read from the last node of the walks back to their source.
                yield Level(rows[pairs], ends[rows[pairs]], walked if few_ends else walked[:, ::-1])
        return np.concatenate([*left, np.flatnonzero(~done)])

    def _opened(
        self, pulled: Adjacency, sources: Nodes, pairs: int
    ) -> Iterator[tuple[int, int, Walks]]:
        """Walks from as many sources as fit together, with the first source's number and count."""
        seconds = host_seconds(pulled, pairs, len(sources)).shared
        if self.device is not None and self.device.shortest_pay(pulled, len(sources), seconds):
            yield from self.device.walks(pulled, sources)
            return
        size = walks_that_fit(pulled)
        for first in range(0, len(sources) if size else 0, max(size, 1)):
            chunk = sources[first : first + size]
            yield first, len(chunk), HostWalks(pulled, chunk, self.check)


def _numbered(
    found: Generator[Level, None, Indexes], rows: Indexes, ends: Nodes
) -> Generator[Level, None, Indexes]:
    """Translates pair numbers to numbers among all pairs; returns the generator's return value."""
    while True:
        try:
            level = next(found)
        except StopIteration as end:
            left: Indexes = end.value
            return left
        taken = rows[level.rows]
        yield Level(taken, ends[taken], level.relationships)
