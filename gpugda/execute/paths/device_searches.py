"""Multi-source searches on the device, used if they are expected to be faster than on the host."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.device.launch.path_levels import SEARCHES_A_WORD
from gpugda.execute.paths.trails import Level
from gpugda.match.special.path_search import searches_that_fit
from gpugda.match.special.walk_search import WalkSearches

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.context import ExecutionContext
    from gpugda.match.special.walk_search import DeviceWalks

    Indexes = NDArray[np.int64]
    Nodes = NDArray[np.uint32]

__all__ = ["DeviceSearches"]

_Made = TypeVar("_Made")
_MAX_SEARCHES: Final = 1 << 10
"""Most searches that run together."""
_LEVELS: Final = 8
_MAX_LEVELS: Final = 32
_SECONDS_PER_ENTRY: Final = 30e-9
"""Measured host seconds per entry that a search reads."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceSearches:
    """The device searches of one operator in one run.

    Args:
        context: Context of the run.
        operator: The operator whose report records the searches.
        backwards: Returns the reversed adjacency.
    """

    context: ExecutionContext
    operator: object
    backwards: Callable[[], Adjacency]

    def reach_pays(self, steps: Adjacency, starts: int, maximum: int | None) -> bool:
        """True if reachability from this many starts is expected to be faster on the device."""
        nodes, entries = steps.node_count, len(steps.neighbours)
        levels = _LEVELS if maximum is None else min(maximum, _LEVELS)
        looks, step = 0.0, entries / max(nodes, 1)
        for level in range(1, levels + 1):
            looks = min(float(entries), looks + step**level)
        seconds = starts * looks * _SECONDS_PER_ENTRY
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
        """As `reach.reached`; follows directed relationships unless ``with_start`` is set."""
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
        few_ends = len(unique_values(ends)) < len(unique_values(starts))
        one, other = (ends, starts) if few_ends else (starts, ends)
        sources, source_of = np.unique(one, return_inverse=True)
        pulled = steps if few_ends else backwards

        def level(pairs: Indexes, walked: Nodes) -> Level:
            # Paths are read from the search's last node back to its source.
            return Level(pairs, ends[pairs], walked if few_ends else walked[:, ::-1])

        found = self._shortest(pulled, sources, source_of, other, maximum, every=every)
        return (yield from _each(level, found))

    def walks(self, pulled: Adjacency, sources: Nodes) -> Iterator[tuple[int, int, DeviceWalks]]:
        """Walks from as many sources as fit at a time; yields first source number and count too.

        ``pulled``: per node, the relationships by which a walk can enter it.
        """
        for first, searches, chunk in self._chunks(pulled, sources, every=True):
            with searches.walks(chunk) as walks:
                yield first, len(chunk), walks

    def _shortest(
        self,
        pulled: Adjacency,
        sources: Nodes,
        source_of: Indexes,
        others: Nodes,
        maximum: int | None,
        *,
        every: bool,
    ) -> Generator[tuple[Indexes, Nodes], None, Indexes]:
        """Pair numbers and their shortest paths from the other end to the source.

        Returns the numbers of pairs that need more levels than fit in memory.

        Args:
            pulled: Per node, the relationships by which a search can enter it.
            sources: Distinct source nodes.
            source_of: Source number of each pair.
            others: The other node of each pair.
            maximum: Most relationships; None for no bound.
            every: True for all shortest paths of a pair, False for one.
        """
        left = [np.zeros(0, dtype=np.int64)]
        for first, searches, chunk in self._chunks(pulled, sources, every=every):
            rows = np.flatnonzero((source_of >= first) & (source_of < first + len(chunk)))
            asked = source_of[rows] - first, others[rows].astype(np.int64)
            found = searches.shortest(chunk, *asked, maximum)
            waiting = yield from _each(partial(_numbered, rows), found)
            left.append(rows[waiting])
        return np.concatenate(left)

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


def _each(
    make: Callable[[Indexes, Nodes], _Made],
    found: Generator[tuple[Indexes, Nodes], None, Indexes],
) -> Generator[_Made, None, Indexes]:
    """Applies ``make`` to each result; returns the generator's return value."""
    while True:
        try:
            pairs, walked = next(found)
        except StopIteration as end:
            left: Indexes = end.value
            return left
        yield make(pairs, walked)


def _numbered(rows: Indexes, pairs: Indexes, walked: Nodes) -> tuple[Indexes, Nodes]:
    """Translates pair numbers of a chunk to numbers among all pairs."""
    return rows[pairs], walked
