"""Rows with as many of the shortest paths between two of their nodes as a selector asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.operators.shortest_path import ShortestPath
from gpugda.execute.path_choice import AtMost
from gpugda.execute.trails import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.operator import Operator
    from gpugda.execute.path_choice import Ends
    from gpugda.execute.steps import Steps
    from gpugda.plan.logical import Expand as LogicalExpand

__all__ = ["SelectedPaths"]


class SelectedPaths(ShortestPath):
    """``SHORTEST k``, ``SHORTEST k GROUPS``, ``ALL SHORTEST`` and ``ANY k`` for bound ends.

    Conditions in the brackets of the pattern are part of the search; those after it are not, and
    one node may be both ends.

    Args:
        child: Rows.
        asked: Which paths.
        wanted: Which lists of its relationships and nodes somebody reads.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, wanted: frozenset[str]) -> None:
        super().__init__(child, asked, wanted)
        self.every = asked.by_group

    def _refuse_same(self, asked: Ends) -> None:
        """A closed path is one, too."""

    def _found(
        self, batch: Batch, steps: Steps, asked: Ends, context: ExecutionContext
    ) -> Iterator[Level]:
        rest = np.arange(len(asked.rows))
        if self.asked.most == 1 and self.asked.minimum <= 1 and not steps.left:
            # A walk of least length between two nodes repeats none, so no relationship either.
            for level in self._searched(steps, asked, context, every=self.every):
                yield Level(asked.rows[level.rows], level.ends, level.relationships)
            rest = np.flatnonzero(asked.starts == asked.ends)
        if len(rest):
            choice = AtMost(len(rest), self.asked.most, self.asked.by_group)
            yield from self._by_length(batch, steps, asked.taken(rest), choice, context)
