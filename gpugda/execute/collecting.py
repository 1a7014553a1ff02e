"""Output rows, chunk by chunk: projection, DISTINCT, ORDER BY, SKIP and LIMIT."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.execute.grouping import group_rows, nan_identity
from gpugda.execute.memory import ResultRoom
from gpugda.execute.row_table import RowTable, stacked
from gpugda.execute.sorting import sorted_rows
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.id_order import by_ids
from gpugda.expressions.operands import take

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.expressions.environment import Environment
    from gpugda.query.query_graph import Query

__all__ = ["OutputRows", "rows_of"]

_MERGE_ROWS = 1 << 16


class OutputRows:
    """The rows of RETURN.

    Args:
        query: What is returned, and how it is ordered.
        skip: Number of rows left out at the start.
        limit: Most rows after those; None for all.
    """

    def __init__(self, query: Query, skip: int, limit: int | None) -> None:
        self._query = query
        self._skip = skip
        self._stop = None if limit is None else skip + limit
        self._tables: list[RowTable] = []
        self._room = ResultRoom(copied=bool(query.distinct or query.order_by))
        self._rows_seen = 0
        self._row_count = 0
        self._merged_rows = 0

    @property
    def full(self) -> bool:
        """Can no further row change the answer?"""
        if self._stop is None or (self._query.order_by and self._stop):
            return False
        return self._row_count >= self._stop

    def push(self, environment: Environment) -> None:
        """Adds rows."""
        query = self._query
        if self._stop is not None and not query.distinct and not query.order_by:
            # Later rows are not even projected, so that they raise nothing.
            wanted = self._stop - self._row_count
            if environment.row_count > wanted:
                environment = rows_of(environment, np.arange(wanted))
        table = self._projected(environment)
        self._room.add(table)
        self._tables.append(table)
        self._rows_seen += environment.row_count
        self._row_count += environment.row_count
        if self._should_merge():
            self._merge()

    def finish(self) -> RowTable:
        """The columns of RETURN."""
        self._merge()
        table = self._tables[0]
        count = len(self._query.columns)
        if self._query.order_by:
            table = table.take(self._sorted(table))
        if self._skip or (self._stop is not None and self._stop < table.row_count):
            table = table.take(np.arange(table.row_count)[self._skip : self._stop])
        return RowTable(table.row_count, table.columns[:count])

    def _projected(self, environment: Environment) -> RowTable:
        """Returned columns, then what tells their NaNs apart (for DISTINCT), then sort keys."""
        query = self._query
        outputs = tuple(evaluate_operand(each.expression, environment) for each in query.columns)
        columns = outputs
        if query.distinct:
            columns += tuple(
                nan_identity(each.expression, operand, environment, self._rows_seen)
                for each, operand in zip(query.columns, outputs, strict=True)
            )
        after = replace(environment, outputs=outputs)
        columns += tuple(
            by_ids(evaluate_operand(key.expression, after), environment.graph)
            for key in query.order_by
        )
        return RowTable(environment.row_count, columns)

    def _should_merge(self) -> bool:
        if self._query.distinct and self._stop is not None and not self._query.order_by:
            return True  # the number of distinct rows must be known
        if self._query.distinct:
            return self._row_count > 2 * max(_MERGE_ROWS, self._merged_rows)
        if self._query.order_by and self._stop is not None:
            return self._row_count > _MERGE_ROWS + 4 * self._stop
        return False

    def _merge(self) -> None:
        table = stacked(self._tables)
        if self._query.distinct:
            keys = table.columns[: 2 * len(self._query.columns)]
            table = table.take(group_rows(keys, table.row_count).first)
        if self._query.order_by and self._stop is not None and table.row_count > self._stop:
            table = table.take(self._sorted(table))
        self._tables = [table]
        self._room.only(table)
        self._row_count = self._merged_rows = table.row_count

    def _sorted(self, table: RowTable) -> NDArray[np.int64]:
        order_by = self._query.order_by
        keys = table.columns[len(table.columns) - len(order_by) :]
        descending = [key.descending for key in order_by]
        return sorted_rows(keys, descending, table.row_count, self._stop)


def rows_of(environment: Environment, rows: NDArray[Any]) -> Environment:
    """Some of the rows, by position."""
    return replace(
        environment,
        row_count=len(rows),
        variables={name: column.take(rows) for name, column in environment.variables.items()},
        keys=[take(operand, rows) for operand in environment.keys],
        aggregates=[take(operand, rows) for operand in environment.aggregates],
    )
