"""Groups of rows, and what aggregates make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.aggregating import Aggregation
from gpugda.execute.batch import Batch
from gpugda.execute.operator import Operator
from gpugda.execute.shown import text_of
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Operand, as_column
from gpugda.query import ast
from gpugda.query.query_graph import Query, QueryGraph
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext

__all__ = ["Aggregate"]


class Aggregate(Operator):
    """A row for each distinct tuple of keys, with keys and aggregates by position.

    Args:
        child: Rows.
        keys: What they are grouped by.
        aggregates: What is computed of each group.
        always: Whether there is a group also where there are no rows: in a subquery one for each
            outer row.
    """

    def __init__(
        self,
        child: Operator,
        keys: tuple[ast.Expression, ...],
        aggregates: tuple[ast.Expression, ...],
        *,
        always: bool,
    ) -> None:
        self.children = (child,)
        self.keys = keys
        self.aggregates = aggregates
        self.always = always

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        aggregation: Aggregation | None = None
        carried: tuple[str, ...] = ()
        for batch in self.children[0].batches(context):
            if aggregation is None:
                carried = tuple(batch.carried)
                aggregation = Aggregation(self._query(carried, context))
            aggregation.push(context.environment(batch), batch.weights)
        if aggregation is None:
            carried = () if context.argument is None else tuple(context.argument.carried)
            aggregation = Aggregation(self._query(carried, context))
        groups = aggregation.finish()
        count = len(self.keys)
        owners = dict(zip(carried, groups.keys[count:], strict=True))
        found = Batch(
            groups.row_count, owners, keys=groups.keys[:count], aggregates=groups.aggregates
        )
        yield found
        if carried and self.always and context.argument is not None:
            yield from self._of_nothing(found, carried[-1], context)

    def _of_nothing(self, found: Batch, owner: str, context: ExecutionContext) -> Iterator[Batch]:
        """The groups of outer rows for which there was no row."""
        argument = context.argument
        assert argument is not None
        there = _numbers(found.columns[owner], found.row_count)
        all_rows = _numbers(argument.columns[owner], argument.row_count)
        rows = np.flatnonzero(~np.isin(all_rows, there))
        if not len(rows):
            return
        outer = argument.take(rows)
        environment = context.environment(outer)
        empty = Aggregation(self._query((), context, keyless=True)).finish()
        aggregates: list[Operand] = [
            as_column(each, 1).take(np.zeros(len(rows), dtype=np.int64))
            for each in empty.aggregates
        ]
        keys = [evaluate_operand(key, environment) for key in self.keys]
        yield Batch(len(rows), outer.carried, keys=keys, aggregates=aggregates)

    def _query(
        self, carried: tuple[str, ...], context: ExecutionContext, *, keyless: bool = False
    ) -> Query:
        span = Span(0, 0)
        owners = tuple(ast.Variable(span, name) for name in carried)
        return Query(
            context.text,
            QueryGraph((), ()),
            (),
            aggregating=True,
            grouping=() if keyless else (*self.keys, *owners),
            aggregates=self.aggregates,
        )

    def describe(self) -> str:
        """With keys and aggregates."""
        made = ", ".join(map(text_of, self.aggregates)) or "groups"
        by = ", ".join(map(text_of, self.keys))
        return f"aggregate {made}" + (f" by {by}" if by else "")


def _numbers(column: Operand, row_count: int) -> NDArray[np.int64]:
    values: NDArray[np.int64] = as_column(column, row_count).values
    return values
