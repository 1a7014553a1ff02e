"""Applies SKIP and LIMIT."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.batch import Batch, joined
from gpugda.execute.operator import Operator, text_of
from gpugda.execute.operators.sort import Sort
from gpugda.expressions.operands import as_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.row_bounds import RowBounds

__all__ = ["Slice"]


class Slice(Operator):
    """Returns a range of the rows, in order; within a subquery, per outer row."""

    adds_no_rows = True

    def __init__(self, child: Operator, bounds: RowBounds) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.bounds = bounds

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        skip, limit = self.bounds.values(context)
        stop = None if limit is None else skip + limit
        (child,) = self.children
        reads = isinstance(child, Sort) and not self.bounds.apart
        if stop == 0 and not reads:  # ORDER BY with its own LIMIT reads its rows even then
            if context.argument is None:
                yield child.nothing()
            return
        if context.argument is not None:
            batches = [each.expanded() for each in child.batches(context)]
            if batches:
                yield _slice_per_outer_row(joined(batches), skip, limit)
            return
        with closing(child.batches(context.needing(stop))) as rows:
            yield from _sliced(rows, skip, stop)

    def describe(self) -> str:
        """Describes the bounds."""
        words = ("limit", "+") if self.bounds.whole else ("skip", "limit")
        parts = zip(words, (self.bounds.skip, self.bounds.limit), strict=True)
        return " ".join(f"{word} {text_of(e)}" for word, e in parts if e is not None)


def _sliced(batches: Iterator[Batch], skip: int, stop: int | None) -> Iterator[Batch]:
    seen = 0
    for batch in batches:
        rows = batch.expanded()
        first, seen = seen, seen + rows.row_count
        start = min(max(skip - first, 0), rows.row_count)
        end = rows.row_count if stop is None else min(stop - first, rows.row_count)
        if start == 0 and end == rows.row_count:
            yield rows
        else:
            yield rows.take(np.arange(start, max(start, end)))
        if stop is not None and seen >= stop:
            return


def _slice_per_outer_row(batch: Batch, skip: int, limit: int | None) -> Batch:
    carried = list(batch.carried.values())
    if not carried or batch.row_count == 0:
        stop = None if limit is None else skip + limit
        return batch.take(np.arange(batch.row_count)[skip:stop])
    owner = as_column(carried[-1], batch.row_count).values
    order = np.argsort(owner, kind="stable")
    starts = np.flatnonzero(np.r_[True, owner[order][1:] != owner[order][:-1]])
    lengths = np.diff(np.r_[starts, len(order)])
    rank = np.arange(len(order)) - np.repeat(starts, lengths)
    kept = (rank >= skip) & (rank < skip + limit if limit is not None else True)
    return batch.take(np.sort(order[kept]))
