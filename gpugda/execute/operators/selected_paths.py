"""Rows with as many of the shortest paths between two of their nodes as a selector asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.longer_paths import paths_by_length
from gpugda.execute.operators.shortest_path import ShortestPath
from gpugda.execute.trails import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.operator import Operator
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

    def _refuse_same(self, starts: NDArray[np.uint32], ends: NDArray[np.uint32]) -> None:
        """A closed path is one, too."""

    def _found(
        self,
        batch: Batch,
        steps: Steps,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        context: ExecutionContext,
    ) -> Iterator[Level]:
        rest = np.arange(len(rows))
        if self.asked.most == 1 and self.asked.minimum <= 1 and not steps.left:
            # A walk of least length between two nodes repeats none, so no relationship either.
            for level in self._searched(steps, starts, ends, context, every=self.every):
                yield Level(rows[level.rows], level.ends, level.relationships)
            rest = np.flatnonzero(starts == ends)
        if len(rest):
            yield from self._counted(batch, steps, rows[rest], starts[rest], ends[rest], context)

    def _counted(
        self,
        batch: Batch,
        steps: Steps,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        context: ExecutionContext,
    ) -> Iterator[Level]:
        found: list[Level] = []
        most, by_group = self.asked.most, self.asked.by_group
        counts = np.zeros(len(rows), dtype=np.int64)
        in_group = np.zeros(len(rows), dtype=np.bool_)

        def enough(level: Level) -> NDArray[np.bool_]:
            if not len(level.rows):
                if by_group:
                    counts[in_group] += 1
                    in_group[:] = False
                more: NDArray[np.bool_] = counts < most
                return more
            here = Level(rows[level.rows], level.ends, level.relationships)
            kept = self._passing(batch, here, steps, context)
            if by_group:
                in_group[level.rows[kept]] = True
            else:
                kept = kept[counts[level.rows[kept]] + _ranks(level.rows[kept]) < most]
                np.add.at(counts, level.rows[kept], 1)
            found.append(here.taken(kept))
            return counts < most

        bounds = self.asked.minimum, self.asked.maximum
        back = self._cache.backwards(context)
        paths_by_length(steps.forwards, back, starts, ends, bounds, enough, context.check)
        yield from found


def _ranks(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of the earlier rows are the same, row by row."""
    order = np.argsort(rows, kind="stable")
    begins = np.flatnonzero(np.diff(rows[order], prepend=-1))
    firsts = np.repeat(begins, np.diff(np.append(begins, len(rows))))
    ranks = np.empty(len(rows), dtype=np.int64)
    ranks[order] = np.arange(len(rows)) - firsts
    return ranks
