"""Counts the rows that pass a negated condition as the difference of two counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.batch import Batch
from gpugda.execute.operator import Operator
from gpugda.expressions.operands import as_column
from gpugda.plan.label_programs import type_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.context import ExecutionContext
    from gpugda.query.query_graph import QueryRelationship

__all__ = ["CountComplement"]

_FEW_RELATIONSHIPS: Final = 1 << 17
_FEW_ROWS: Final = 1 << 15
"""Below these, counting rows directly is faster than planning two counts."""


class CountComplement(Operator):
    """Returns one row with one count.

    Args:
        whole: Counts the rows without the condition.
        part: Counts the rows that the condition excludes.
        direct: Counts the rows that pass the condition one by one.
        joined: The relationship that distinguishes the part; must not be parallel.
    """

    def __init__(
        self, whole: Operator, part: Operator, direct: Operator, joined: QueryRelationship
    ) -> None:
        self.children = (whole, part, direct)
        self.columns = direct.columns
        self.joined = joined

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        whole, part, direct = self.children
        count = self._count(whole, context) if self.is_worth_it(context.graph) else None
        if count is None or count < _FEW_ROWS:
            yield from direct.batches(context)
            return
        left = np.array([count - self._count(part, context)], dtype=np.int64)
        yield Batch(1, {self.columns[0]: Column(ColumnKind.INTEGER, left)})

    def is_worth_it(self, graph: DataGraph) -> bool:
        """True if two counts may take less than one."""
        if graph.relationship_count < _FEW_RELATIONSHIPS:
            return False
        return _comes_once(self.joined, graph)

    def _count(self, counter: Operator, context: ExecutionContext) -> int:
        (batch,) = counter.batches(context)
        return int(as_column(batch.columns[self.columns[0]], 1).values[0])

    def describe(self) -> str:
        """Describes the difference and its fallback."""
        return "first count minus second; third count if there are few rows"


def _comes_once(joined: QueryRelationship, graph: DataGraph) -> bool:
    """True if no two nodes have parallel relationships of this pattern."""
    types = type_ids(joined.types, graph.types)
    counts = graph.parallel_counts_of(types, directed=joined.directed)
    return all(each <= 1 for each in counts)
