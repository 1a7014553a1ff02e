"""Unwinds lists into rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.operator import Operator, text_of
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.evaluation.exploded import Lists, lists_of
from gpugda.expressions.operands import Constant
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.expressions.environment import Environment

__all__ = ["Unwind"]

_MAX_ROWS = 1 << 17
_LONG_RANGE = 1 << 16


class Unwind(Operator):
    """Returns each row with each element of its list; null has none, other values are one."""

    def __init__(self, child: Operator, elements: ast.Expression, name: str) -> None:
        self.children = (child,)
        self.columns = (*(n for n in child.columns if n != name), name)
        self.elements = elements
        self.name = name

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            if batch.row_count == 0:
                yield batch.adding({self.name: Constant(None)})
                continue
            numbers = _range_of(self.elements, context.environment(batch))
            if numbers is not None and len(numbers) > _LONG_RANGE:
                yield from self._counted_off(batch, numbers, context)
                continue
            operand = evaluate_operand(self.elements, context.environment(batch))
            yield from self._unwound(batch, lists_of(operand, batch.row_count, True))

    def _counted_off(
        self, batch: Batch, numbers: range, context: ExecutionContext
    ) -> Iterator[Batch]:
        """Each row with all numbers of a range too long to materialise as a list."""
        for row in range(batch.row_count):
            for first in range(0, len(numbers), _MAX_ROWS):
                context.check()
                piece = numbers[first : first + _MAX_ROWS]
                values = np.arange(piece.start, piece.stop, piece.step, dtype=np.int64)
                rows = np.full(len(values), row, dtype=np.int64)
                found = Column(ColumnKind.INTEGER, values)
                yield batch.take(rows).adding({self.name: found})

    def _unwound(self, batch: Batch, lists: Lists) -> Iterator[Batch]:
        ends = np.cumsum(lists.counts)
        start = 0
        while start < batch.row_count:
            done = 0 if start == 0 else int(ends[start - 1])
            stop = int(np.searchsorted(ends, done + _MAX_ROWS, side="right"))
            stop = min(max(stop, start + 1), batch.row_count)
            counts = lists.counts[start:stop]
            rows = np.repeat(np.arange(start, stop), counts)
            yield batch.take(rows).adding({self.name: lists.elements_of(rows, counts)})
            start = stop

    def describe(self) -> str:
        """Describes the list."""
        return f"unwind {text_of(self.elements)} AS {self.name}"


def _range_of(elements: ast.Expression, environment: Environment) -> range | None:
    """The numbers of ``range(first, last)`` if they are the same in all rows; else None."""
    if not isinstance(elements, ast.FunctionCall) or elements.name.lower() != "range":
        return None
    bounds = [evaluate_operand(each, environment) for each in elements.arguments]
    values = [each.value for each in bounds if isinstance(each, Constant)]
    if len(values) < len(bounds) or not all(type(value) is int for value in values):
        return None
    first, last, step = (*values, 1)[:3]
    return range(first, last + (1 if step > 0 else -1), step) if step else None
