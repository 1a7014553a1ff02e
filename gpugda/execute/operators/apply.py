"""Joins each row with the result of a subquery, optionally as an outer join."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.batch import CARRIED, Batch, in_batches, product_of
from gpugda.execute.operator import Operator
from gpugda.expressions.operands import Constant, Operand, as_column

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext

__all__ = ["Apply", "numbered", "owners_of"]


class Apply(Operator):
    """Joins each row with the rows of a subquery that belong to it.

    Args:
        child: Input rows.
        sub: The subquery; its argument is a batch of input rows.
        imported: Columns that the subquery reads.
        added: Columns that the subquery adds.
        outer: True if rows without a result are returned with nulls.
        depth: Nesting depth of this subquery.
        whole: True if the subquery returns the columns of its argument, too.
    """

    def __init__(
        self,
        child: Operator,
        sub: Operator,
        imported: tuple[str, ...],
        added: tuple[str, ...],
        *,
        outer: bool,
        depth: int,
        whole: bool,
    ) -> None:
        self.children = (child, sub)
        self.imported = imported
        self.added = tuple(name for name in added if name not in child.columns)
        self.columns = (*child.columns, *self.added)
        self.outer = outer
        self.owner = f"{CARRIED}{depth}"
        self.whole = whole

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        child, sub = self.children
        for batch in in_batches(child.batches(context), context.enough):
            argument = numbered(batch, self.owner, None if self.whole else self.imported)
            seen = np.zeros(batch.row_count, dtype=np.bool_)
            told = {self.owner, *batch.columns, *self.added}
            for found in sub.batches(context.within(argument)):
                rows = owners_of(found, self.owner)
                seen[rows] = True
                weights = found.weights if self.whole else _multiplied(batch, rows, found)
                distinct = batch.distinct and found.distinct and told.issuperset(found.columns)
                columns = self._columns(batch, rows, found)
                yield Batch(found.row_count, columns, weights, distinct=distinct)
            if self.outer and not seen.all():
                left = batch.kept(np.flatnonzero(~seen))
                yield left.adding(dict.fromkeys(self.added, Constant(None)))

    def _columns(self, batch: Batch, rows: NDArray[np.int64], found: Batch) -> dict[str, Operand]:
        added = {name: found.columns[name] for name in self.added}
        if self.whole and found.columns.keys() >= batch.columns.keys():
            return {name: found.columns[name] for name in batch.columns} | added
        return {**batch.take(rows).columns, **added}

    def describe(self) -> str:
        """Describes the kind of join."""
        return "optional" if self.outer else "apply"


def numbered(batch: Batch, owner: str, imported: tuple[str, ...] | None) -> Batch:
    """The argument of a subquery: the imported columns and a column of row numbers."""
    rows: Operand = Column(ColumnKind.INTEGER, np.arange(batch.row_count))
    if imported is None:
        return batch.adding({owner: rows})
    kept = {name: batch.columns[name] for name in imported}
    return Batch(batch.row_count, {**kept, **batch.carried, owner: rows})


def owners_of(found: Batch, owner: str) -> NDArray[np.int64]:
    """Number of the outer row that each row belongs to."""
    values: NDArray[np.int64] = as_column(found.columns[owner], found.row_count).values
    return values


def _multiplied(batch: Batch, rows: NDArray[np.int64], found: Batch) -> NDArray[np.uint64] | None:
    if batch.weights is None:
        return found.weights
    own = batch.weights[rows]
    return own if found.weights is None else product_of(own, found.weights)
