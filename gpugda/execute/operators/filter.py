"""Filters rows by predicates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.display import text_of
from gpugda.execute.operator import Operator
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.operands import check_faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext
    from gpugda.query.ast import Expression

__all__ = ["Filter", "kept_rows"]


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
