"""Conditions that read a whole path, tested on the paths of one length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.execute.operators.filter import kept_rows
from gpugda.execute.seeds import entity_column
from gpugda.expressions.lists import list_column, path_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.trails import Level
    from gpugda.plan.logical import Expand
    from gpugda.query.ast import Expression

__all__ = ["passing", "path_lists"]

_PLACE: Final = "\0place"


def passing(
    batch: Batch,
    level: Level,
    asked: Expand,
    conditions: tuple[Expression, ...],
    context: ExecutionContext,
) -> NDArray[np.int64]:
    """Places of the paths that satisfy the conditions.

    Args:
        batch: Rows that the paths belong to.
        level: Paths.
        asked: The expansion that made them.
        conditions: Over the path, its relationships and the rows.
        context: Of the run.
    """
    every = np.arange(len(level.rows))
    if not conditions or not len(every):
        return every
    ends = Column(ColumnKind.NODE, level.ends)
    found = batch.take(level.rows)
    lists = path_lists(level, turned=asked.reversed)
    found = found.adding({asked.end: ends, asked.relationships: lists})
    if asked.path:
        starts = entity_column(found.columns[asked.start], len(every), is_node=True)
        first = ends if asked.reversed else starts
        path = path_column(context.graph, first.values, [lists], None)
        found = found.adding({asked.path: path})
    found = found.adding({_PLACE: Column(ColumnKind.INTEGER, every)})
    kept = kept_rows(found, conditions, context).columns[_PLACE]
    assert isinstance(kept, Column)
    places: NDArray[np.int64] = kept.values
    return places


def path_lists(level: Level, *, turned: bool) -> Column:
    """A column of the relationships of paths, in the order of the pattern."""
    count, length = level.relationships.shape
    walked = level.relationships[:, ::-1] if turned else level.relationships
    offsets = np.arange(count + 1, dtype=np.int64) * length
    return list_column(offsets, np.ascontiguousarray(walked).reshape(-1), of_nodes=False)
