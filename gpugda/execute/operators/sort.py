"""Sorts rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.batch import Batch, joined
from gpugda.execute.memory import ResultMemory
from gpugda.execute.operator import Operator, text_of
from gpugda.execute.sorting import sorted_rows
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.id_order import by_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.row_bounds import RowBounds
    from gpugda.query.query_graph import SortKey

__all__ = ["Sort"]

_MERGE_ROWS = 1 << 16


class Sort(Operator):
    """Returns all rows in order, or the first ones if a limit is known.

    Args:
        child: A projection, whose columns keys refer to by position.
        keys: Sort keys, most significant first.
        bounds: SKIP and LIMIT that follow, if any.
    """

    adds_no_rows = True

    def __init__(
        self, child: Operator, keys: tuple[SortKey, ...], bounds: RowBounds | None = None
    ) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.keys = keys
        self.bounds = bounds

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        stop = None if self.bounds is None else self.bounds.stop(context)
        waiting: list[Batch] = []
        room, count = ResultMemory(copied=True), 0
        for batch in self.children[0].batches(context.needing(None)):
            waiting.append(batch.expanded())
            room.add(waiting[-1])
            count += waiting[-1].row_count
            if stop is not None and len(waiting) > 1 and count > _MERGE_ROWS + 4 * stop:
                waiting = [self._sorted(joined(waiting), context, stop)]
                room.only(waiting[0])
                count = waiting[0].row_count
        if waiting:
            yield self._sorted(joined(waiting), context, stop)

    def _sorted(self, batch: Batch, context: ExecutionContext, stop: int | None) -> Batch:
        if batch.row_count == 0:
            return batch
        carried = list(batch.carried.values())
        outputs = tuple(batch.columns[name] for name in self.columns)
        environment = context.environment(batch, outputs)
        keys = [
            by_ids(evaluate_operand(key.expression, environment), context.graph)
            for key in self.keys
        ]
        descending = [False] * len(carried) + [key.descending for key in self.keys]
        rows = sorted_rows(
            [*carried, *keys], descending, batch.row_count, None if carried else stop
        )
        if stop is not None and not carried:
            rows = rows[:stop]
        return batch.take(np.asarray(rows))

    def describe(self) -> str:
        """Describes the keys."""
        return "sort by " + ", ".join(
            text_of(key.expression, columns=self.columns) + (" DESC" if key.descending else "")
            for key in self.keys
        )
