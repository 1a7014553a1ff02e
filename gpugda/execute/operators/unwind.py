"""Each row with each element of a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.execute.operator import Operator
from gpugda.execute.shown import text_of
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.made_columns import column_of
from gpugda.expressions.operands import Constant, distinct_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.query.ast import Expression

__all__ = ["Unwind"]

_MOST_ROWS = 1 << 20


class Unwind(Operator):
    """Each row with each element of a list; null has none, another value is one itself."""

    def __init__(self, child: Operator, elements: Expression, name: str) -> None:
        self.children = (child,)
        self.columns = (*(n for n in child.columns if n != name), name)
        self.elements = elements
        self.name = name

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            if batch.row_count == 0:
                yield batch.adding({self.name: Constant(None)})
                continue
            operand = evaluate_operand(self.elements, context.environment(batch))
            places, values = distinct_values(operand, batch.row_count)
            yield from self._unwound(batch, places, [_elements(value) for value in values])

    def _unwound(self, batch: Batch, places: Any, lists: list[list[Any]]) -> Iterator[Batch]:
        lengths = np.array([len(each) for each in lists], dtype=np.int64)
        first = np.concatenate([[0], np.cumsum(lengths)])
        column = column_of([value for each in lists for value in each])
        per_row = lengths[places]
        ends = np.cumsum(per_row)
        start = 0
        while start < batch.row_count:
            done = 0 if start == 0 else int(ends[start - 1])
            stop = int(np.searchsorted(ends, done + _MOST_ROWS, side="right"))
            stop = min(max(stop, start + 1), batch.row_count)
            counts = per_row[start:stop]
            rows = np.repeat(np.arange(start, stop), counts)
            inside = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            taken = column.take(first[places[rows]] + inside)
            yield batch.take(rows).adding({self.name: taken})
            start = stop

    def describe(self) -> str:
        """With the list."""
        return f"unwind {text_of(self.elements)} AS {self.name}"


def _elements(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
