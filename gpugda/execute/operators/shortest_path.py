"""Rows with the shortest paths between two of their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.errors import CypherExecutionError
from gpugda.execute.batch import Batch, in_batches
from gpugda.execute.longer_paths import paths_by_length
from gpugda.execute.operator import Operator
from gpugda.execute.operators.path_conditions import passing, path_columns
from gpugda.execute.seeds import entity_column
from gpugda.execute.shortest import shortest_paths
from gpugda.execute.steps import Steps, StepsCache
from gpugda.execute.trails import Level
from gpugda.plan.logical import ExpandMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext
    from gpugda.plan.logical import Expand as LogicalExpand

__all__ = ["ShortestPath"]

_SAME_NODE: Final = (
    "a shortest path cannot begin and end at the same node: compare the two nodes with <> before"
    " the search, or let it have no relationship (*0..)"
)


class ShortestPath(Operator):
    """Each row with the shortest path between two of its nodes, or with all of them.

    Conditions that read the path are part of the search: the shortest path that satisfies them.

    Args:
        child: Rows.
        asked: Which paths; both ends are bound.
        wanted: Which lists of its relationships and nodes somebody reads.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, wanted: frozenset[str]) -> None:
        self.children = (child,)
        self.asked = asked
        self.wanted = wanted
        self.every = asked.mode is ExpandMode.ALL_SHORTEST
        self.columns = (*child.columns, *sorted(wanted))
        self._cache = StepsCache(asked)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        steps = self._cache.steps(context)
        for batch in in_batches(self.children[0].batches(context)):
            rows, starts, ends = self._ends(batch)
            nothing = np.zeros(0, dtype=np.int64)
            none = Level(nothing, starts[:0], np.zeros((0, 1), np.uint32))
            yield self._batch(batch, none, context)
            self._refuse_same(starts, ends)
            if steps.nodes_allowed is not None:
                passed = steps.nodes_allowed[starts] & steps.nodes_allowed[ends]
                rows, starts, ends = rows[passed], starts[passed], ends[passed]
            found = self._found(batch, steps, rows, starts, ends, context)
            for level in found:
                yield self._batch(batch, level, context)

    def _ends(
        self, batch: Batch
    ) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.uint32]]:
        """The rows whose ends are nodes, and these."""
        asked, count = self.asked, batch.row_count
        start = entity_column(batch.columns[asked.start], count, is_node=True)
        end = entity_column(batch.columns[asked.end], count, is_node=True)
        there = np.ones(count, dtype=np.bool_)
        for column in (start, end):
            if column.valid is not None:
                there &= column.valid
        rows = np.flatnonzero(there)
        return rows, start.values[rows], end.values[rows]

    def _refuse_same(self, starts: NDArray[np.uint32], ends: NDArray[np.uint32]) -> None:
        refused = self.asked.minimum > 0 or self.asked.closed
        if refused and bool((starts == ends).any()):
            raise CypherExecutionError(_SAME_NODE)

    def _found(
        self,
        batch: Batch,
        steps: Steps,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        context: ExecutionContext,
    ) -> Iterator[Level]:
        same = starts == ends
        done = np.zeros(len(rows), dtype=np.bool_)
        every = self.every or bool(steps.left)
        for level in (
            _empty_paths(starts, same),
            *self._searched(steps, starts, ends, context, every=every),
        ):
            here = Level(rows[level.rows], level.ends, level.relationships)
            kept = self._passing(batch, here, steps, context)
            if not self.every:
                kept = kept[~done[level.rows[kept]]]
                kept = kept[np.unique(level.rows[kept], return_index=True)[1]]
            done[level.rows[kept]] = True
            yield here.taken(kept)
        left = np.flatnonzero(~done)
        if steps.left and len(left):
            yield from self._longer(batch, steps, rows[left], starts[left], ends[left], context)

    def _searched(
        self,
        steps: Steps,
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        context: ExecutionContext,
        *,
        every: bool,
    ) -> Iterator[Level]:
        """Shortest paths of pairs of different nodes; each pair is searched once."""
        back = self._cache.backwards(context)
        keys = starts.astype(np.int64) << 32 | ends
        apart = np.flatnonzero(starts != ends)
        pairs, first, pair_of = np.unique(keys[apart], return_index=True, return_inverse=True)
        order = apart[np.argsort(pair_of, kind="stable")]
        bounds = np.concatenate([[0], np.cumsum(np.bincount(pair_of, minlength=len(pairs)))])
        some = apart[first]
        found = shortest_paths(
            steps.forwards,
            back,
            starts[some],
            ends[some],
            self.asked.maximum,
            context.check,
            every=every,
        )
        for level in found:
            counts = bounds[level.rows + 1] - bounds[level.rows]
            paths = np.repeat(np.arange(len(level.rows)), counts)
            inside = places_in_runs(counts)
            rows = order[bounds[level.rows[paths]] + inside]
            yield Level(rows, level.ends[paths], level.relationships[paths])

    def _longer(
        self,
        batch: Batch,
        steps: Steps,
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        context: ExecutionContext,
    ) -> Iterator[Level]:
        """The shortest paths that satisfy the conditions, where no path of least length does."""
        found: list[Level] = []
        waiting = np.ones(len(rows), dtype=np.bool_)
        satisfied = np.zeros(len(rows), dtype=np.bool_)

        def enough(level: Level) -> NDArray[np.bool_]:
            if not len(level.rows):
                waiting[satisfied] = False
                return waiting
            here = Level(rows[level.rows], level.ends, level.relationships)
            kept = self._passing(batch, here, steps, context)
            if not self.every:
                kept = kept[~satisfied[level.rows[kept]]]
                kept = kept[np.unique(level.rows[kept], return_index=True)[1]]
            satisfied[level.rows[kept]] = True
            found.append(here.taken(kept))
            return waiting

        bounds = self.asked.minimum, self.asked.maximum
        back = self._cache.backwards(context)
        paths_by_length(steps.forwards, back, starts, ends, bounds, enough, context.check)
        yield from found

    def _passing(
        self, batch: Batch, level: Level, steps: Steps, context: ExecutionContext
    ) -> NDArray[np.int64]:
        return passing(batch, level, self.asked, steps.left, context)

    def _batch(self, batch: Batch, level: Level, context: ExecutionContext) -> Batch:
        found = batch.take(level.rows)
        return found.adding(path_columns(found, level, self.asked, context, self.wanted))

    def describe(self) -> str:
        """With bounds and ends."""
        asked = self.asked
        upper = "" if asked.maximum is None else asked.maximum
        return f"{asked.mode} *{asked.minimum}..{upper} from {asked.start} to {asked.end}"


def _empty_paths(starts: NDArray[np.uint32], same: NDArray[np.bool_]) -> Level:
    rows = np.flatnonzero(same)
    return Level(rows, starts[rows], np.zeros((len(rows), 0), dtype=np.uint32))
