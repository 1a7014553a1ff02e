"""Groups of rows, and what aggregates make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.execute.aggregating import LARGEST_INTEGER, Aggregation, too_large
from gpugda.execute.batch import Batch, joined
from gpugda.execute.grouping import Groups, group_rows
from gpugda.execute.memory import ResultRoom
from gpugda.execute.nan_identity import nan_identity
from gpugda.execute.operator import Operator
from gpugda.execute.operators.looked_up_count import looked_up_count
from gpugda.execute.row_table import RowTable, stacked
from gpugda.execute.shown import text_of
from gpugda.execute.weights import sum_of
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Constant, Operand, as_column, take
from gpugda.query import ast
from gpugda.query.query_graph import Query, QueryGraph
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext

__all__ = ["Aggregate"]

_MOST_GATHERED: Final = 1 << 18


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
        self._named = {each.name for each in keys if isinstance(each, ast.Variable)}
        self._is_number = always and not keys and len(aggregates) > 0
        self._is_number &= all(_counts_rows(each, child) for each in aggregates)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        context = context.for_some(None)
        if self._is_number and context.argument is None:
            yield self._number(context)
            return
        counts = all(_counts(each) for each in self.aggregates)
        found, carried = (self._counted if counts else self._collected)(context)
        yield found
        if carried and self.always and context.argument is not None:
            yield from self._of_nothing(found, carried[-1], context)

    def _number(self, context: ExecutionContext) -> Batch:
        """Where the number of rows is all that is asked for."""
        total = looked_up_count(self.children[0], context, context.report_of(self))
        if total is None:
            total = 0
            for batch in self.children[0].batches(context):
                total += batch.row_count if batch.weights is None else sum_of(batch.weights)
        if total > LARGEST_INTEGER:
            raise too_large(self._query((), context), 0, f"the count is {total} or more")
        return Batch(1, {}, aggregates=[Constant(total)] * len(self.aggregates))

    def _counted(self, context: ExecutionContext) -> tuple[Batch, tuple[str, ...]]:
        """Where there are only counts: batch by batch, with memory for the groups alone."""
        aggregation: Aggregation | None = None
        carried: tuple[str, ...] = ()
        for batch, is_only in _whether_only(self.children[0].batches(context)):
            if aggregation is None:
                carried = tuple(batch.carried)
                aggregation = Aggregation(self._query(carried, context))
            apart = batch.distinct and self._named.issuperset(batch.columns)
            once = {place: same for place, same in self._counted_once(batch) if is_only or not same}
            environment = context.environment(batch)
            aggregation.push(environment, batch.weights, apart=apart, once=once)
        if aggregation is None:
            carried = () if context.argument is None else tuple(context.argument.carried)
            aggregation = Aggregation(self._query(carried, context))
        groups = aggregation.finish()
        count = len(self.keys)
        owners = dict(zip(carried, groups.keys[count:], strict=True))
        found = Batch(
            groups.row_count, owners, keys=groups.keys[:count], aggregates=groups.aggregates
        )
        return found, carried

    def _counted_once(self, batch: Batch) -> Iterator[tuple[int, list[Operand]]]:
        """Places of ``count(DISTINCT v)`` where no group may have a ``v`` twice.

        With each, what must be the same in all rows of a group for that, as no row comes twice.
        """
        for place, each in enumerate(self.aggregates if batch.distinct else ()):
            if not isinstance(each, ast.FunctionCall) or not each.distinct:
                continue
            (counted,) = each.arguments
            if isinstance(counted, ast.Variable) and counted.name in batch.columns:
                told = {*self._named, *batch.carried, counted.name}
                yield place, [batch.columns[name] for name in batch.columns if name not in told]

    def _collected(self, context: ExecutionContext) -> tuple[Batch, tuple[str, ...]]:
        """All rows at once."""
        tables: list[RowTable] = []
        carried = () if context.argument is None else tuple(context.argument.carried)
        seen = 0
        room = ResultRoom(copied=True)
        for batch in self.children[0].batches(context):
            carried = tuple(batch.carried)
            rows = batch.expanded()
            room.add(rows)
            tables.append(self._table(rows, carried, seen, context))
            seen += batch.row_count
        table = stacked(tables) if tables else RowTable(0, (Constant(None),) * self._width(carried))
        keys = len(self.keys) + len(carried)
        if table.row_count == 0:
            return self._empty(carried, context), carried
        groups = group_rows(table.columns[: 2 * keys], table.row_count)
        firsts = [take(each, groups.first) for each in table.columns[: 2 * keys : 2]]
        made, place = [], 2 * keys
        for each in self.aggregates:
            width = len(_arguments(each))
            arguments = table.columns[place : place + width]
            made.append(self._made(each, arguments, groups, table.row_count))
            place += width
        owners = dict(zip(carried, firsts[len(self.keys) :], strict=True))
        batch = Batch(len(groups.first), owners, keys=firsts[: len(self.keys)], aggregates=made)
        return batch, carried

    def _width(self, carried: tuple[str, ...]) -> int:
        keys = 2 * (len(self.keys) + len(carried))
        return keys + sum(len(_arguments(each)) for each in self.aggregates)

    def _table(
        self, batch: Batch, carried: tuple[str, ...], seen: int, context: ExecutionContext
    ) -> RowTable:
        """Keys, each with what tells its NaNs apart, then the arguments of the aggregates."""
        environment = context.environment(batch)
        columns: list[Operand] = []
        for key in (*self.keys, *(ast.Variable(Span(0, 0), name) for name in carried)):
            operand = evaluate_operand(key, environment)
            columns += [operand, nan_identity(key, operand, environment, seen)]
        for each in self.aggregates:
            columns += [evaluate_operand(a, environment) for a in _arguments(each)]
        return RowTable(batch.row_count, tuple(columns))

    def _made(
        self,
        call: ast.Expression,
        arguments: Sequence[Operand],
        groups: Groups,
        row_count: int,
    ) -> Operand:
        if isinstance(call, ast.FunctionCall):
            return _aggregated(call, arguments[0], arguments[1:], groups, row_count)
        counts = np.bincount(groups.group_of, minlength=len(groups.first))
        return Column(ColumnKind.INTEGER, counts.astype(np.int64))

    def _empty(self, carried: tuple[str, ...], context: ExecutionContext) -> Batch:
        """No groups; or the only one, of no rows."""
        if self.keys or carried:
            none = Constant(None)
            return Batch(
                0,
                dict.fromkeys(carried, none),
                keys=[none] * len(self.keys),
                aggregates=[none] * len(self.aggregates),
            )
        return Batch(1, {}, aggregates=self._of_no_rows())

    def _of_no_rows(self) -> list[Operand]:
        """What each aggregate is where there are no rows."""
        one = np.zeros(1, dtype=np.int64)
        groups = Groups(one, one)
        none = Column(ColumnKind.BOOLEAN, np.zeros(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_))
        made: list[Operand] = []
        for each in self.aggregates:
            if isinstance(each, ast.FunctionCall):
                further = [Constant(None)] * (len(each.arguments) - 1)  # no value looks at them
                made.append(_aggregated(each, none, further, groups, 1))
            else:
                made.append(Constant(0))
        return made

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
        aggregates: list[Operand] = [
            take(as_column(each, 1), np.zeros(len(rows), dtype=np.int64))
            for each in self._of_no_rows()
        ]
        keys = [evaluate_operand(key, environment) for key in self.keys]
        yield Batch(len(rows), outer.carried, keys=keys, aggregates=aggregates)

    def expected_rows(self) -> float | None:
        """One where there are no keys."""
        return 1.0 if self.always and not self.keys else None

    def nothing(self) -> Batch:
        """As of every operator."""
        none = Constant(None)
        return Batch(0, {}, keys=[none] * len(self.keys), aggregates=[none] * len(self.aggregates))

    def _query(self, carried: tuple[str, ...], context: ExecutionContext) -> Query:
        span = Span(0, 0)
        owners = tuple(ast.Variable(span, name) for name in carried)
        return Query(
            context.text,
            QueryGraph((), ()),
            (),
            aggregating=True,
            grouping=(*self.keys, *owners),
            aggregates=self.aggregates,
        )

    def describe(self) -> str:
        """With keys and aggregates."""
        made = ", ".join(map(text_of, self.aggregates)) or "groups"
        by = ", ".join(map(text_of, self.keys))
        return f"aggregate {made}" + (f" by {by}" if by else "")


def _whether_only(batches: Iterator[Batch]) -> Iterator[tuple[Batch, bool]]:
    """Batches, and of each whether it has all rows that there are.

    Different rows are gathered for that, as far as they are few.
    """
    waiting: list[Batch] = []
    count, several = 0, False
    for batch in batches:
        if several or not batch.row_count:
            yield batch, False
            continue
        waiting.append(batch)
        count += batch.row_count
        several = len(waiting) > 1 and (count > _MOST_GATHERED or not batch.distinct)
        if several:
            yield from ((each, False) for each in waiting)
    if waiting and not several:
        yield joined(waiting), True


def _counts(call: ast.Expression) -> bool:
    return isinstance(call, ast.CountStar) or (
        isinstance(call, ast.FunctionCall) and call.name.lower() == "count"
    )


def _counts_rows(call: ast.Expression, child: Operator) -> bool:
    """Whether it counts rows, as nobody reads what is counted: it is of a pattern, never null."""
    if not isinstance(call, ast.FunctionCall):
        return isinstance(call, ast.CountStar)
    (counted,) = call.arguments if call.name.lower() == "count" else (None,)
    is_given = isinstance(counted, ast.Variable) and counted.name not in child.columns
    return is_given and not call.distinct


def _arguments(call: ast.Expression) -> tuple[ast.Expression, ...]:
    return call.arguments if isinstance(call, ast.FunctionCall) else ()


def _aggregated(
    call: ast.FunctionCall, first: Operand, further: Sequence[Operand], groups: Groups, rows: int
) -> Operand:
    from gpugda.execute.aggregates import aggregate  # not for numbers of rows

    return aggregate(call.name.lower(), first, further, groups, rows, distinct=call.distinct)


def _numbers(column: Operand, row_count: int) -> NDArray[np.int64]:
    return as_column(column, row_count).values
