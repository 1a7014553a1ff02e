"""The k shortest trails of each pair of nodes, by walks on the device if these pay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.execute.paths.compact import compacted
from gpugda.execute.paths.frontier import SECONDS_PER_ENTRY
from gpugda.execute.paths.selected_trails import TrailsAsked, selected_trails
from gpugda.execute.paths.trails import Level, renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.paths.device_searches import DeviceSearches

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
        device: Device searches, used if they are faster; without them all pairs are left.
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
        left = yield from renumbered(found, some, ends)
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
        # The other search reads all relationships once per end.
        seconds = len(unique_values(ends)) * len(steps.neighbours) * SECONDS_PER_ENTRY
        if self.device is None or not self.device.shortest_pay(pulled, len(sources), seconds):
            return np.arange(len(starts))
        for first, count, walks in self.device.walks(pulled, sources):
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
