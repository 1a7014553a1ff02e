"""Groups rows and computes aggregates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.aggregation.aggregate_calls import arguments_of, counts, counts_unread
from gpugda.execute.aggregation.group_keys import group_key
from gpugda.execute.aggregation.grouped_counts import (
    LARGEST_INTEGER,
    GroupedCounts,
    summed_counts,
    too_large,
)
from gpugda.execute.aggregation.grouping import Groups, group_rows
from gpugda.execute.batch import Batch, RowTable, flag_only_batch, joined_weights, stacked, sum_of
from gpugda.execute.memory import ResultMemory
from gpugda.execute.operator import Operator, text_of
from gpugda.execute.operators.degree_lookup import count_by_degrees
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Constant, Operand, as_column, take, validity
from gpugda.query import ast
from gpugda.query.query_graph import Query, QueryGraph
from gpugda.types import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext

__all__ = ["Aggregate"]


class Aggregate(Operator):
    """Returns one row per distinct tuple of keys, with keys and aggregates by position.

    Args:
        child: Input rows.
        keys: Grouping keys.
        aggregates: Aggregates per group.
        always: True if there is a group even without rows; in a subquery, one per outer row.
        take_weights: True if all aggregates accept weighted rows.
    """

    def __init__(
        self,
        child: Operator,
        keys: tuple[ast.Expression, ...],
        aggregates: tuple[ast.Expression, ...],
        *,
        always: bool,
        take_weights: bool = False,
    ) -> None:
        self.children = (child,)
        self._take_weights = take_weights
        self.keys = keys
        self.aggregates = aggregates
        self.always = always
        self._single = child.distinct_variables()
        self._named = {each.name for each in keys if isinstance(each, ast.Variable)}
        self._is_row_count = always and not keys and len(aggregates) > 0
        self._is_row_count &= all(counts_unread(each, child.columns) for each in aggregates)

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        context = context.needing(None)
        if self._is_row_count and context.argument is None:
            yield self._number(context)
            return
        is_counted = all(map(counts, self.aggregates))
        found, carried = (self._counted if is_counted else self._collected)(context)
        yield found
        if carried and self.always and context.argument is not None:
            yield from self._empty_groups(found, carried[-1], context)

    def _number(self, context: ExecutionContext) -> Batch:
        """The result if only the number of rows is needed."""
        total = count_by_degrees(self.children[0], context, context.report_of(self))
        if total is None:
            total = 0
            for batch in self.children[0].batches(context):
                total += batch.row_count if batch.weights is None else sum_of(batch.weights)
        if total > LARGEST_INTEGER:
            raise too_large(self._query((), context), 0, f"the count is {total} or more")
        return Batch(1, {}, aggregates=[Constant(total)] * len(self.aggregates))

    def _counted(self, context: ExecutionContext) -> tuple[Batch, tuple[str, ...]]:
        """The result if all aggregates are counts: batch by batch, in memory for the groups."""
        aggregation: GroupedCounts | None = None
        carried: tuple[str, ...] = ()
        for batch, is_only in flag_only_batch(self.children[0].batches(context)):
            if aggregation is None:
                carried = tuple(batch.carried)
                aggregation = GroupedCounts(self._query(carried, context), self._single)
            apart = batch.distinct and self._named.issuperset(batch.columns)
            once = {place: same for place, same in self._counted_once(batch) if is_only or not same}
            environment = context.environment(batch)
            aggregation.push(environment, batch.weights, apart=apart, once=once)
        if aggregation is None:
            carried = () if context.argument is None else tuple(context.argument.carried)
            aggregation = GroupedCounts(self._query(carried, context), self._single)
        groups = aggregation.finish()
        count = len(self.keys)
        owners = dict(zip(carried, groups.keys[count:], strict=True))
        found = Batch(
            groups.row_count, owners, keys=groups.keys[:count], aggregates=groups.aggregates
        )
        return found, carried

    def _counted_once(self, batch: Batch) -> Iterator[tuple[int, list[Operand]]]:
        """Positions of ``count(DISTINCT v)`` for which no group can contain a ``v`` twice.

        Yields with each the columns that must be constant within a group, since rows are distinct.
        """
        for place, each in enumerate(self.aggregates if batch.distinct else ()):
            if not isinstance(each, ast.FunctionCall) or not each.distinct:
                continue
            (counted,) = each.arguments
            if isinstance(counted, ast.Variable) and counted.name in batch.columns:
                told = {*self._named, *batch.carried, counted.name}
                yield place, [batch.columns[name] for name in batch.columns if name not in told]

    def _collected(self, context: ExecutionContext) -> tuple[Batch, tuple[str, ...]]:
        """The result from all rows at once."""
        tables: list[RowTable] = []
        carried = () if context.argument is None else tuple(context.argument.carried)
        weights: list[NDArray[np.uint64] | None] = []
        room = ResultMemory(copied=True)
        for batch in self.children[0].batches(context):
            carried = tuple(batch.carried)
            rows = batch if self._take_weights else batch.expanded()
            table = self._table(rows, carried, context)
            room.add(rows)
            tables.append(table)
            weights.append(rows.weights)
        table = stacked(tables) if tables else RowTable(0, (Constant(None),) * self._width(carried))
        keys = len(self.keys) + len(carried)
        if table.row_count == 0:
            return self._empty(carried, context), carried
        groups = group_rows(table.columns[:keys], table.row_count)
        firsts = [take(each, groups.first) for each in table.columns[:keys]]
        made, place = [], keys
        weighted = joined_weights(weights, [each.row_count for each in tables])
        for number, each in enumerate(self.aggregates):
            width = len(arguments_of(each))
            arguments = table.columns[place : place + width]
            made.append(self._aggregated(number, arguments, groups, weighted, context))
            place += width
        owners = dict(zip(carried, firsts[len(self.keys) :], strict=True))
        batch = Batch(len(groups.first), owners, keys=firsts[: len(self.keys)], aggregates=made)
        return batch, carried

    def _width(self, carried: tuple[str, ...]) -> int:
        keys = len(self.keys) + len(carried)
        return keys + sum(len(arguments_of(each)) for each in self.aggregates)

    def _table(self, batch: Batch, carried: tuple[str, ...], context: ExecutionContext) -> RowTable:
        """Keys, then the aggregates' arguments."""
        environment = context.environment(batch)
        named = (ast.Variable(NOWHERE, name) for name in carried)
        columns = [group_key(key, environment, self._single) for key in (*self.keys, *named)]
        for each in self.aggregates:
            arguments = arguments_of(each)
            if isinstance(each, ast.FunctionCall) and each.distinct:
                columns.append(group_key(arguments[0], environment, self._single))
                arguments = arguments[1:]
            columns += [evaluate_operand(one, environment) for one in arguments]
        return RowTable(batch.row_count, tuple(columns))

    def _aggregated(
        self,
        place: int,
        arguments: Sequence[Operand],
        groups: Groups,
        weights: NDArray[np.uint64] | None,
        context: ExecutionContext,
    ) -> Operand:
        call, rows = self.aggregates[place], groups.group_of
        if isinstance(call, ast.FunctionCall) and not (counts(call) and not call.distinct):
            from gpugda.execute.aggregation.aggregates import aggregate  # counts do not need it

            given = call.name.lower(), arguments[0], arguments[1:], groups, len(rows)
            return aggregate(*given, distinct=call.distinct, weights=weights)
        if arguments:
            valid = validity(arguments[0])
            there = np.flatnonzero(np.broadcast_to(valid, len(rows)))
            rows, weights = rows[there], None if weights is None else weights[there]
        if weights is None:
            numbers = np.bincount(rows, minlength=len(groups.first))
            return Column(ColumnKind.INTEGER, numbers.astype(np.int64))
        return summed_counts(self._query((), context), place, rows, weights, len(groups.first))

    def _empty(self, carried: tuple[str, ...], context: ExecutionContext) -> Batch:
        """No group, or the single group of no rows."""
        if self.keys or carried:
            none = Constant(None)
            return Batch(
                0,
                dict.fromkeys(carried, none),
                keys=[none] * len(self.keys),
                aggregates=[none] * len(self.aggregates),
            )
        return Batch(1, {}, aggregates=self._empty_aggregates())

    def _empty_aggregates(self) -> list[Operand]:
        """The value of each aggregate for no rows."""
        from gpugda.execute.aggregation.aggregates import (
            aggregate,  # queries that find rows may not need it
        )

        one = np.zeros(1, dtype=np.int64)
        groups = Groups(one, one)
        none = Column(ColumnKind.BOOLEAN, np.zeros(1, dtype=np.bool_), np.zeros(1, dtype=np.bool_))
        made: list[Operand] = []
        for each in self.aggregates:
            if not isinstance(each, ast.FunctionCall):
                made.append(Constant(0))
                continue
            further = [Constant(None)] * (len(each.arguments) - 1)  # not read without values
            made.append(aggregate(each.name.lower(), none, further, groups, 1, distinct=False))
        return made

    def _empty_groups(self, found: Batch, owner: str, context: ExecutionContext) -> Iterator[Batch]:
        """The groups of outer rows that have no row."""
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
            for each in self._empty_aggregates()
        ]
        keys = [evaluate_operand(key, environment) for key in self.keys]
        yield Batch(len(rows), outer.carried, keys=keys, aggregates=aggregates)

    def nothing(self) -> Batch:
        """See `Operator.nothing`."""
        none = Constant(None)
        return Batch(0, {}, keys=[none] * len(self.keys), aggregates=[none] * len(self.aggregates))

    def _query(self, carried: tuple[str, ...], context: ExecutionContext) -> Query:
        owners = tuple(ast.Variable(NOWHERE, name) for name in carried)
        return Query(
            context.text,
            QueryGraph((), ()),
            (),
            aggregating=True,
            grouping=(*self.keys, *owners),
            aggregates=self.aggregates,
        )

    def describe(self) -> str:
        """Describes keys and aggregates."""
        made = ", ".join(map(text_of, self.aggregates)) or "groups"
        by = f" by {', '.join(map(text_of, self.keys))}" if self.keys else ""
        return f"aggregate {made}{by}"


def _numbers(column: Operand, row_count: int) -> NDArray[np.int64]:
    values: NDArray[np.int64] = as_column(column, row_count).values
    return values
