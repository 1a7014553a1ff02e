"""Filters rows by predicates, and by relationship isomorphism between parts of a MATCH."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.operator import Operator, text_of
from gpugda.execute.relationship_lists import lists_of, sharing
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.operands import as_column, check_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.query.ast import Expression


__all__ = ["DistinctRelationships", "Filter", "kept_rows"]


class Filter(Operator):
    """Returns the rows for which all predicates hold."""

    adds_no_rows = True

    def __init__(self, child: Operator, predicates: tuple[Expression, ...]) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.predicates = predicates

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        for batch in self.children[0].batches(context):
            yield kept_rows(batch, self.predicates, context)

    def describe(self) -> str:
        """Describes the predicates."""
        return f"filter {' AND '.join(map(text_of, self.predicates))}"


def kept_rows(batch: Batch, predicates: tuple[Expression, ...], context: ExecutionContext) -> Batch:
    """The rows of a batch for which all predicates hold.

    Raises:
        CypherTypeError: An operation is not defined for the type of a value in some row.
    """
    if batch.row_count == 0:
        return batch
    truth = evaluate_truth(predicates, context.environment(batch))
    check_faults(truth.faults, batch.row_count)
    if truth.holds is True:
        return batch
    holds = np.broadcast_to(truth.holds, batch.row_count)
    return batch if holds.all() else batch.kept(np.flatnonzero(holds))


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
