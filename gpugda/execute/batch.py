"""Rows in named columns: what operators hand to one another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.execute.row_table import RowTable, stacked
from gpugda.expressions.operands import Constant, Operand, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["CARRIED", "Batch", "in_batches", "joined", "joined_weights", "whether_only"]

CARRIED: Final = "\0row"
"""Begins the names of columns that tell which row of an outer query a row belongs to: every
operator keeps them, and treats rows of different outer rows apart."""

_MOST_ROWS: Final = 1 << 18
_FEW_ROWS: Final = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Some rows.

    Args:
        row_count: Number of rows; counts also where there are no columns.
        columns: By name, in order.
        weights: ``uint64`` per row, how many equal rows each stands for; None for one each.
        keys: Where rows are groups, their keys by position.
        aggregates: Likewise, their aggregates.
        hidden: What a projection took away, as far as others still read it: sort keys, and what
            tells one NaN from another.
        distinct: Whether no two rows of all batches are known to be the same.
    """

    row_count: int
    columns: Mapping[str, Operand]
    weights: NDArray[np.uint64] | None = None
    keys: Sequence[Operand] = ()
    aggregates: Sequence[Operand] = ()
    hidden: Mapping[str, Operand] = field(default_factory=dict[str, Operand])
    distinct: bool = False

    def take(self, rows: NDArray[Any]) -> Batch:
        """The rows at these positions."""
        return Batch(
            len(rows),
            {name: take(column, rows) for name, column in self.columns.items()},
            None if self.weights is None else self.weights[rows],
            [take(column, rows) for column in self.keys],
            [take(column, rows) for column in self.aggregates],
            {name: take(column, rows) for name, column in self.hidden.items()},
        )

    def kept(self, rows: NDArray[Any]) -> Batch:
        """The rows at different positions: no two become the same by that."""
        return replace(self.take(rows), distinct=self.distinct)

    def expanded(self) -> Batch:
        """Rows that stand for themselves alone."""
        if self.weights is None:
            return self
        rows = np.repeat(np.arange(self.row_count), self.weights.astype(np.int64))
        return replace(self, weights=None).take(rows)

    def adding(self, columns: Mapping[str, Operand]) -> Batch:
        """The rows with more columns."""
        return replace(self, columns={**self.columns, **columns})

    def only(self, names: Iterable[str]) -> Batch:
        """The rows with these columns, and those that every operator keeps."""
        columns = {**{name: self.columns[name] for name in names}, **self.carried}
        return Batch(self.row_count, columns, self.weights)

    @property
    def carried(self) -> dict[str, Operand]:
        """The columns that every operator keeps."""
        return {n: column for n, column in self.columns.items() if n.startswith(CARRIED)}


def joined(batches: Sequence[Batch], columns: Sequence[str] = ()) -> Batch:
    """All rows of batches with the same columns; ``columns`` where there is no batch."""
    if not batches:
        return Batch(0, {name: Constant(None) for name in columns})
    if len(batches) == 1:
        return batches[0]
    filled = [each for each in batches if each.row_count] or [batches[0]]
    first = filled[0]
    if len(filled) == 1:
        return first
    names, hidden = tuple(first.columns), tuple(first.hidden)
    tables = [
        RowTable(
            each.row_count,
            (*(each.columns[n] for n in names), *(each.hidden[n] for n in hidden)),
        )
        for each in filled
    ]
    table = stacked(tables)
    found = dict(zip(names, table.columns[: len(names)], strict=True))
    weights = joined_weights([each.weights for each in filled], [t.row_count for t in tables])
    kept = dict(zip(hidden, table.columns[len(names) :], strict=True))
    distinct = all(each.distinct for each in filled)
    return Batch(table.row_count, found, weights, hidden=kept, distinct=distinct)


def in_batches(batches: Iterable[Batch], enough: int | None = None) -> Iterator[Batch]:
    """The same rows in batches of some size, where they came in smaller ones.

    Args:
        batches: With the same columns.
        enough: As of the context: where few rows suffice, batches begin small.
    """
    rows = _MOST_ROWS if enough is None else min(max(enough, _FEW_ROWS), _MOST_ROWS)
    waiting: list[Batch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.row_count
        if count >= rows:
            yield joined(waiting)
            waiting, count, rows = [], 0, min(2 * rows, _MOST_ROWS)
    if waiting:
        yield joined(waiting)


def whether_only(batches: Iterable[Batch]) -> Iterator[tuple[Batch, bool]]:
    """Batches, and of each whether it has all rows that there are.

    Different rows are gathered for that, as far as they are few.
    """
    waiting: list[Batch] = []
    count, several = 0, False
    for batch in batches:
        if several or not batch.row_count:
            yield batch, False
            continue
        waiting.append(batch)
        count += batch.row_count
        several = len(waiting) > 1 and (count > _MOST_ROWS or not batch.distinct)
        if several:
            yield from ((each, False) for each in waiting)
    if waiting and not several:
        yield joined(waiting), True


def joined_weights(
    weights: Sequence[NDArray[np.uint64] | None], row_counts: Sequence[int]
) -> NDArray[np.uint64] | None:
    """Those of the rows of several batches; None where each row stands for itself."""
    if all(each is None for each in weights):
        return None
    both = zip(weights, row_counts, strict=True)
    return np.concatenate([np.ones(n, np.uint64) if each is None else each for each, n in both])
