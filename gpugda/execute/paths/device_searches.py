"""Multi-source searches on the device, used if they are expected to be faster than on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.device.launch.path_levels import SEARCHES_A_WORD
from gpugda.execute.paths.distinct_pairs import Sources
from gpugda.execute.paths.frontier import SECONDS_PER_ENTRY
from gpugda.execute.paths.trails import Level
from gpugda.match.special.path_search import searches_that_fit
from gpugda.match.special.walk_search import WalkSearches

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.context import ExecutionContext
    from gpugda.match.special.walk_search import DeviceWalks

    Indexes = NDArray[np.int64]
    Nodes = NDArray[np.uint32]

__all__ = ["DeviceSearches"]

_MAX_SEARCHES: Final = 1 << 10
"""Most searches that run together."""
_LEVELS: Final = 8
_MAX_LEVELS: Final = 32


@dataclass(frozen=True, slots=True, eq=False)
class DeviceSearches:
    """The device searches of one operator in one run.

    Args:
        context: Context of the run.
        operator: The operator whose report records the searches.
    """

    context: ExecutionContext
    operator: object

    def reach_pays(self, steps: Adjacency, starts: int, maximum: int | None) -> bool:
        """True if reachability from this many starts is expected to be faster on the device."""
        nodes, entries = steps.node_count, len(steps.neighbours)
        levels = _LEVELS if maximum is None else min(maximum, _LEVELS)
        looks, step = 0.0, entries / max(nodes, 1)
        for level in range(1, levels + 1):
            looks = min(float(entries), looks + step**level)
        seconds = starts * looks * SECONDS_PER_ENTRY
        return self._fits_memory(steps) and self._seconds(steps, starts, levels) < seconds

    def shortest_pay(self, steps: Adjacency, sources: int, seconds: float) -> bool:
        """True if shortest paths from this many sources take less time than the host's seconds."""
        return self._fits_memory(steps) and self._seconds(steps, sources, _LEVELS) < seconds

    def _fits_memory(self, steps: Adjacency) -> bool:
        """True if memory suffices for the adjacency and several levels of one word."""
        strategy = self.context.strategy
        nodes, entries = len(steps.offsets), len(steps.neighbours)
        needed = 2 * entries + nodes + _MAX_LEVELS * nodes
        return 0 < 8 * needed < strategy.limit - strategy.graph.nbytes

    def _seconds(self, steps: Adjacency, sources: int, levels: int) -> float:
        costs = self.context.strategy.graph.context.profile.thresholds.paths
        words = -(-sources // SEARCHES_A_WORD)
        looks = words * (len(steps.neighbours) + len(steps.offsets))
        return costs.begin_seconds + levels * looks * costs.word_seconds

    def reached(
        self, starts: Nodes, backwards: Adjacency, maximum: int | None, *, with_start: bool
    ) -> Iterator[tuple[Indexes, Nodes]]:
        """As `Reach.ends`; follows directed relationships unless ``with_start`` is set."""
        for first, searches, chunk in self._chunks(backwards, starts, every=True):
            numbers, nodes = searches.reached(chunk, maximum, with_start=with_start)
            yield numbers + first, nodes

    def paths(
        self,
        steps: Adjacency,
        backwards: Adjacency,
        starts: Nodes,
        ends: Nodes,
        maximum: int | None,
        *,
        every: bool,
    ) -> Generator[Level, None, Indexes]:
        """As `shortest.shortest_paths`; returns the pairs left to the host."""
        left = [np.zeros(0, dtype=np.int64)]
        sources = Sources.of(starts, ends)
        pulled = steps if sources.are_ends else backwards
        for searches, chunk, rows, pairs in self._asked(pulled, sources, every=every):
            found = searches.shortest(chunk, *pairs, maximum)
            while True:
                try:
                    of, walked = next(found)
                except StopIteration as end:
                    left.append(rows[end.value])
                    break
                # Paths are read from the search's last node back to its source.
                walked = walked if sources.are_ends else walked[:, ::-1]
                yield Level(rows[of], ends[rows[of]], walked)
        return np.concatenate(left)

    def distances(
        self,
        steps: Adjacency,
        backwards: Adjacency,
        starts: Nodes,
        ends: Nodes,
        maximum: int | None,
    ) -> tuple[Indexes, Indexes]:
        """Lengths of the shortest walks of at least one relationship; and the pairs left.

        The length is 0 if no walk joins a pair's nodes, which may be the same node.
        """
        lengths, left = np.zeros(len(starts), dtype=np.int64), [np.zeros(0, dtype=np.int64)]
        sources = Sources.of(starts, ends)
        pulled = steps if sources.are_ends else backwards
        for searches, chunk, rows, pairs in self._asked(pulled, sources, every=False):
            lengths[rows], waiting = searches.distances(chunk, *pairs, maximum)
            left.append(rows[waiting])
        return lengths, np.concatenate(left)

    def walks(self, pulled: Adjacency, sources: Nodes) -> Iterator[tuple[int, int, DeviceWalks]]:
        """Walks from as many sources as fit at a time; yields first source number and count too.

        ``pulled``: per node, the relationships by which a walk can enter it.
        """
        for first, searches, chunk in self._chunks(pulled, sources, every=True):
            with searches.walks(chunk) as walks:
                yield first, len(chunk), walks

    def _asked(
        self, pulled: Adjacency, sources: Sources, *, every: bool
    ) -> Iterator[tuple[WalkSearches, Nodes, Indexes, tuple[Indexes, Indexes]]]:
        """Yields as many sources as fit, rows of their pairs, and each one's source and node."""
        for first, searches, chunk in self._chunks(pulled, sources.nodes, every=every):
            rows, numbers, nodes = sources.within(first, len(chunk))
            yield searches, chunk, rows, (numbers, nodes)

    def _chunks(
        self, steps: Adjacency, sources: Nodes, *, every: bool
    ) -> Iterator[tuple[int, WalkSearches, Nodes]]:
        """Yields as many sources as fit at a time, with the number of the first one."""
        context = self.context
        report = context.report_of(self.operator)
        with context.strategy.running(report, context.deadline) as run:
            size = max(SEARCHES_A_WORD, searches_that_fit(run, steps, _MAX_SEARCHES))
            searches = WalkSearches(run, steps, every=every)
            for first in range(0, len(sources), size):
                yield first, searches, sources[first : first + size]
        report.steps.append(f"searched from {len(sources):,} nodes, {size:,} at a time")
