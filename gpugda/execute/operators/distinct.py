"""Each row once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.execute.batch import joined
from gpugda.execute.grouping import group_rows, row_identity
from gpugda.execute.operator import Operator

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext

__all__ = ["Distinct"]


class Distinct(Operator):
    """Each row once; memory grows with the distinct rows."""

    _MERGE_ROWS = 1 << 17

    def __init__(self, child: Operator) -> None:
        self.children = (child,)
        self.columns = child.columns

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        waiting: list[Batch] = []
        count, merged = 0, 0
        for batch in self.children[0].batches(context):
            waiting.append(_distinct(batch, count))
            count += batch.row_count
            if sum(each.row_count for each in waiting[1:]) > max(self._MERGE_ROWS, merged):
                waiting = [_distinct(joined(waiting), count)]
                merged = waiting[0].row_count
        if waiting:
            yield _distinct(joined(waiting), count)

    def describe(self) -> str:
        """As the class."""
        return "distinct rows"


def _distinct(batch: Batch, first_row: int) -> Batch:
    operands = list(batch.columns.values())
    identities = [row_identity(each, first_row) for each in operands]
    found = group_rows([*operands, *identities], batch.row_count)
    return replace(batch, weights=None).take(found.first)
