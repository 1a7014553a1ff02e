"""The k shortest trails of each pair of nodes, by walks on the device if these pay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.execute.paths.distinct_pairs import Sources
from gpugda.execute.paths.frontier import SECONDS_PER_ENTRY
from gpugda.execute.paths.selected_trails import TrailsAsked, selected_trails
from gpugda.execute.paths.shortest import compact_pairs
from gpugda.execute.paths.trails import Level, renumbered, without_relationships

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
        pairs = compact_pairs(steps, backwards, starts, ends)
        found = self._walked(pairs.steps, pairs.backwards, pairs.starts, pairs.ends)
        left = yield from renumbered(found, pairs.numbers, ends)
        if self.bounds[0] == 0:
            closed = starts == ends
            closed[pairs.numbers[left]] = False
            empty = np.flatnonzero(closed)
            yield without_relationships(empty, ends[empty])
        return pairs.numbers[left]

    def _walked(
        self, steps: Adjacency, backwards: Adjacency, starts: Nodes, ends: Nodes
    ) -> Generator[Level, None, Indexes]:
        sources = Sources.of(starts, ends)
        pulled = steps if sources.are_ends else backwards
        minimum, maximum = self.bounds
        bounds = minimum, len(steps.neighbours) if maximum is None else maximum
        begun = ((starts == ends) & (minimum == 0)).astype(np.int64)
        left, done = [np.zeros(0, dtype=np.int64)], np.zeros(len(starts), dtype=np.bool_)
        # The other search reads all relationships once per end.
        seconds = len(unique_values(ends)) * len(steps.neighbours) * SECONDS_PER_ENTRY
        if self.device is None or not self.device.shortest_pay(pulled, len(sources.nodes), seconds):
            return np.arange(len(starts))
        for first, count, walks in self.device.walks(pulled, sources.nodes):
            rows, numbers, nodes = sources.within(first, count)
            done[rows] = True
            asked = TrailsAsked(numbers, nodes, bounds, self.most, self.by_group, begun[rows])
            found, waiting = selected_trails(walks, asked, self.check)
            left.append(rows[waiting])
            for pairs, walked in found:
                # Trails are read from the last node of the walks back to their source.
                walked = walked if sources.are_ends else walked[:, ::-1]
                yield Level(rows[pairs], ends[rows[pairs]], walked)
        return np.concatenate([*left, np.flatnonzero(~done)])
