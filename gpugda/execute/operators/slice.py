"""SKIP and LIMIT."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.batch import Batch, joined
from gpugda.execute.operator import Operator
from gpugda.execute.row_number import row_number
from gpugda.execute.shown import text_of
from gpugda.expressions.operands import as_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.query.ast import Expression

__all__ = ["RowBounds", "Slice"]


@dataclass(frozen=True, slots=True)
class RowBounds:
    """What SKIP and LIMIT say."""

    skip: Expression | None
    limit: Expression | None

    def values(self, context: ExecutionContext) -> tuple[int, int | None]:
        """Rows left out at the start, and the most rows after those; None for all.

        Raises:
            CypherTypeError: One is no integer from 0.
        """
        skip = row_number("SKIP", self.skip, context.parameters, context.text)
        limit = row_number("LIMIT", self.limit, context.parameters, context.text)
        return skip or 0, limit

    def stop(self, context: ExecutionContext) -> int | None:
        """How many rows suffice; None where all are needed."""
        skip, limit = self.values(context)
        return None if limit is None else skip + limit


class Slice(Operator):
    """Some of the rows, in their order; within a subquery for each outer row by itself."""

    def __init__(self, child: Operator, bounds: RowBounds) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.bounds = bounds

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        skip, limit = self.bounds.values(context)
        if context.argument is not None:
            batches = [each.expanded() for each in self.children[0].batches(context)]
            if batches:
                yield _slice_per_outer_row(joined(batches), skip, limit)
            return
        seen = 0
        stop = None if limit is None else skip + limit
        if stop == 0:
            yield joined([], self.columns)
            return
        for batch in self.children[0].batches(context):
            batch = batch.expanded()
            first, seen = seen, seen + batch.row_count
            start = min(max(skip - first, 0), batch.row_count)
            end = batch.row_count if stop is None else min(stop - first, batch.row_count)
            yield batch.take(np.arange(start, max(start, end)))
            if stop is not None and seen >= stop:
                return

    def describe(self) -> str:
        """With the bounds."""
        parts = (("skip", self.bounds.skip), ("limit", self.bounds.limit))
        return " ".join(f"{word} {text_of(e)}" for word, e in parts if e is not None)


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
