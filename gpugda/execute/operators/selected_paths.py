"""Joins rows with the k shortest paths between two of their nodes, per path selector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.operators.shortest_path import ShortestPath
from gpugda.execute.paths.device_searches import DeviceSearches
from gpugda.execute.paths.distinct_pairs import DistinctPairs
from gpugda.execute.paths.pair_trails import PairTrails
from gpugda.execute.paths.path_choice import AtMost
from gpugda.execute.paths.trails import Level

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.operator import Operator
    from gpugda.execute.paths.path_choice import Ends
    from gpugda.execute.paths.steps import Steps
    from gpugda.plan.logical import Expand as LogicalExpand

__all__ = ["SelectedPaths"]


class SelectedPaths(ShortestPath):
    """``SHORTEST k``, ``SHORTEST k GROUPS``, ``ALL SHORTEST`` and ``ANY k`` for bound ends.

    Predicates inside the pattern's parentheses are part of the search, those after it are not.
    Both ends may be the same node.

    Args:
        child: Input rows.
        asked: The logical operator that describes the paths.
        wanted: Names of the lists of relationships and nodes that are read.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, wanted: frozenset[str]) -> None:
        super().__init__(child, asked, wanted)
        self.every = asked.by_group

    def _refuse_same(self, asked: Ends) -> None:
        """Accepts equal ends: a closed path is a valid result."""

    def _found(
        self, batch: Batch, steps: Steps, asked: Ends, context: ExecutionContext
    ) -> Iterator[Level]:
        rest = np.arange(len(asked.rows))
        if self.asked.most == 1 and self.asked.minimum <= 1 and not steps.residuals:
            # A shortest walk between two nodes repeats no node, so no relationship either.
            for level in self._searched(steps, asked, context, every=self.every):
                yield Level(asked.rows[level.rows], level.ends, level.relationships)
            rest = np.flatnonzero(asked.starts == asked.ends)
        if len(rest) and not steps.residuals:
            rest = rest[(yield from self._walked(steps, asked.taken(rest), context))]
        if len(rest):
            choice = AtMost(len(rest), self.asked.most, self.asked.by_group)
            yield from self._by_length(batch, steps, asked.taken(rest), choice, context)

    def _walked(
        self, steps: Steps, asked: Ends, context: ExecutionContext
    ) -> Generator[Level, None, NDArray[np.int64]]:
        """Yields trails found by walks of all pairs; returns the places without a result."""
        back = steps.backwards
        pairs = DistinctPairs(asked, np.arange(len(asked.rows)))
        bounds = self.asked.minimum, self.asked.maximum
        device = DeviceSearches(context, self, lambda: back)
        trails = PairTrails(bounds, self.asked.most, self.asked.by_group, context.check, device)
        found = trails.of(steps.forwards, back, pairs.ends.starts, pairs.ends.ends)
        while True:
            try:
                level = pairs.of_places(next(found))
            except StopIteration as end:
                return pairs.places(end.value)
            yield Level(asked.rows[level.rows], level.ends, level.relationships)
