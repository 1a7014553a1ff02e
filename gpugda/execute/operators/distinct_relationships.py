"""Enforces relationship isomorphism between parts of a MATCH that were found separately."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.operator import Operator
from gpugda.execute.relationship_lists import lists_of, sharing
from gpugda.expressions.operands import as_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext

__all__ = ["DistinctRelationships"]


class DistinctRelationships(Operator):
    """Returns the rows in which no relationship occurs in both columns of a pair.

    Args:
        child: Input rows.
        pairs: Pairs of columns of relationships or lists of relationships.
    """

    def __init__(self, child: Operator, pairs: tuple[tuple[str, str], ...]) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.pairs = pairs

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        count = context.graph.relationship_count
        for batch in self.children[0].batches(context):
            for pair in self.pairs:
                context.check()
                one, two = (lists_of(as_column(batch.columns[n], batch.row_count)) for n in pair)
                shared = sharing(one, two, count)
                if len(shared):
                    apart = np.ones(batch.row_count, dtype=np.bool_)
                    apart[shared] = False
                    batch = batch.kept(np.flatnonzero(apart))
            yield batch

    def describe(self) -> str:
        """Describes the number of pairs."""
        return f"different relationships in {len(self.pairs)} pairs of columns"
