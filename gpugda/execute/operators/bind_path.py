"""Builds paths from node and relationship columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.batch import in_pieces
from gpugda.execute.operator import Operator
from gpugda.execute.seeds import entity_column
from gpugda.expressions.lists import path_column
from gpugda.expressions.operands import as_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext

__all__ = ["BindPath"]


class BindPath(Operator):
    """Adds a column of paths; a path is null if any of its parts is."""

    def __init__(self, child: Operator, name: str, start: str, steps: tuple[str, ...]) -> None:
        self.children = (child,)
        self.columns = (*child.columns, name)
        self.name = name
        self.start = start
        self.steps = steps

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in in_pieces(self.children[0].batches(context), context.enough):
            start = entity_column(batch.columns[self.start], batch.row_count, is_node=True)
            steps = [as_column(batch.columns[name], batch.row_count) for name in self.steps]
            known = [each.valid for each in (start, *steps) if each.valid is not None]
            valid = np.logical_and.reduce(known) if known else None
            made = path_column(context.graph, start.values, steps, valid)
            yield batch.adding({self.name: made})

    def describe(self) -> str:
        """Describes the column."""
        return f"path {self.name}"
