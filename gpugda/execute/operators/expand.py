"""Rows with the paths of varying length that begin at their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.execute.operator import Operator
from gpugda.execute.operators.path_conditions import passing, path_lists
from gpugda.execute.seeds import entity_column
from gpugda.execute.steps import StepsCache
from gpugda.execute.trails import Level, trails

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.plan.logical import Expand as LogicalExpand

__all__ = ["Expand"]


class Expand(Operator):
    """Each row with each path from one of its nodes.

    Args:
        child: Rows.
        asked: Which paths.
        wants_list: Whether somebody reads the relationships.
    """

    def __init__(self, child: Operator, asked: LogicalExpand, *, wants_list: bool) -> None:
        self.children = (child,)
        self.asked = asked
        self.wants_list = wants_list
        added = () if asked.end_is_bound else (asked.end,)
        self.columns = (*child.columns, *added, *((asked.relationships,) if wants_list else ()))
        self._cache = StepsCache(asked)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        asked = self.asked
        steps = self._cache.steps(context)
        for batch in self.children[0].batches(context):
            start = entity_column(batch.columns[asked.start], batch.row_count, is_node=True)
            rows = np.arange(batch.row_count)
            if start.valid is not None:
                rows = rows[start.valid]
            if steps.nodes_allowed is not None:
                rows = rows[steps.nodes_allowed[start.values[rows]]]
            target: Column | None = None
            if asked.end_is_bound:
                target = entity_column(batch.columns[asked.end], batch.row_count, is_node=True)
            yield self._batch(batch, _none_of(asked.minimum))
            made = trails(
                steps.forwards,
                rows,
                start.values[rows],
                asked.minimum,
                asked.maximum,
                context.check,
            )
            for level in made:
                kept = _reaching(level, target)
                kept = kept.taken(passing(batch, kept, asked, steps.left, context))
                yield self._batch(batch, kept)

    def _batch(self, batch: Batch, level: Level) -> Batch:
        asked = self.asked
        found = batch.take(level.rows)
        if not asked.end_is_bound:
            found = found.adding({asked.end: Column(ColumnKind.NODE, level.ends)})
        if self.wants_list:
            found = found.adding({asked.relationships: path_lists(level, turned=asked.reversed)})
        return found

    def describe(self) -> str:
        """With bounds and direction."""
        asked = self.asked
        upper = "" if asked.maximum is None else asked.maximum
        return f"expand {asked.mode} *{asked.minimum}..{upper} from {asked.start} to {asked.end}"


def _none_of(length: int) -> Level:
    return Level(
        np.zeros(0, dtype=np.int64),
        np.zeros(0, dtype=np.uint32),
        np.zeros((0, length), dtype=np.uint32),
    )


def _reaching(level: Level, target: Column | None) -> Level:
    """The paths that end where their rows say."""
    if target is None:
        return level
    reached = target.values[level.rows] == level.ends
    if target.valid is not None:
        reached &= target.valid[level.rows]
    return level.taken(np.flatnonzero(reached))
