"""Removes duplicate rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.aggregation.group_keys import has_own_nans, refuse_nans
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.execute.batch import RowTable, joined, stacked
from gpugda.execute.memory import ResultMemory
from gpugda.execute.operator import Operator
from gpugda.execute.operators.project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.row_bounds import RowBounds

__all__ = ["Distinct"]

_MERGE_ROWS = 1 << 16


class Distinct(Operator):
    """Returns each distinct row once, as soon as it is found; memory grows with these rows.

    Batches known to be distinct pass unchanged.

    Args:
        child: Input rows.
        bounds: SKIP and LIMIT that follow, if any: with a limit, new rows are not held back.
    """

    adds_no_rows = True

    def __init__(self, child: Operator, bounds: RowBounds | None = None) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.bounds = bounds

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        at_once = self.bounds is not None and self.bounds.stop(context) is not None
        seen = _Seen()
        checked = self._checked()
        waiting: list[Batch] = []
        count = 0
        given = context if at_once else context.needing(None)
        for batch in self.children[0].batches(given):
            if batch.distinct:
                yield replace(batch, weights=None)
                continue
            for name in checked:
                refuse_nans(batch.columns[name])
            waiting.append(seen.once(batch))
            count += waiting[-1].row_count
            if at_once or count > max(_MERGE_ROWS, seen.row_count):
                yield seen.new(waiting)
                waiting, count = [], 0
        if waiting:
            yield seen.new(waiting)

    def distinct_variables(self) -> frozenset[str]:
        """Those of its input, and the only column if there is one."""
        return super().distinct_variables().union(self.columns if len(self.columns) == 1 else ())

    def _checked(self) -> list[str]:
        """Columns whose NaNs several rows may share."""
        (child,) = self.children
        if not isinstance(child, Project):
            return list(self.columns)
        single = child.children[0].distinct_variables()
        own = {each.name for each in child.items if has_own_nans(each.expression, single)}
        return [name for name in self.columns if name not in own]

    def describe(self) -> str:
        """Describes the operator."""
        return "distinct rows"


class _Seen:
    """The distinct rows found so far."""

    def __init__(self) -> None:
        self._table: RowTable | None = None
        self._room = ResultMemory(copied=True)

    @property
    def row_count(self) -> int:
        return 0 if self._table is None else self._table.row_count

    def once(self, batch: Batch) -> Batch:
        """The distinct rows of one batch."""
        batch = replace(batch, weights=None)
        rows = group_rows([*batch.columns.values()], batch.row_count).first
        found = batch if len(rows) == batch.row_count else batch.take(rows)
        self._room.add(found)
        return found

    def new(self, batches: list[Batch]) -> Batch:
        """The rows of these batches that were not seen before; records them as seen."""
        batch = joined(batches)
        keys = RowTable(batch.row_count, tuple(batch.columns.values()))
        if self._table is None and len(batches) == 1:
            self._table = keys
            return batch
        before = self.row_count
        table = keys if self._table is None else stacked([self._table, keys])
        rows = group_rows(table.columns, table.row_count).first
        self._table = table.take(rows)
        return batch.take(rows[np.searchsorted(rows, before) :] - before)
