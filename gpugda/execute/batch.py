"""Batches: rows in named columns, passed between operators."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column
from gpugda.execute.row_table import RowTable, stacked
from gpugda.expressions.lists import ColumnLists, PathRows
from gpugda.expressions.operands import Constant, Operand, take

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "CARRIED",
    "Batch",
    "flag_only_batch",
    "in_batches",
    "in_pieces",
    "joined",
    "joined_weights",
]

CARRIED: Final = "\0row"
"""Prefix of columns that say which row of the outer query a row belongs to: every operator keeps
these columns and never combines rows of different outer rows."""

_MAX_ROWS: Final = 1 << 18
_FEW_ROWS: Final = 1 << 10
_MAX_ELEMENTS: Final = 1 << 19
"""Elements of lists and paths in a batch: operators check the time between batches."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """A batch of rows.

    Args:
        row_count: Number of rows; valid even without columns.
        columns: Columns by name, in order.
        weights: Multiplicity of each row, ``uint64``; None if all are 1.
        keys: Group keys by position, if rows are groups.
        aggregates: Aggregates by position, if rows are groups.
        hidden: Columns that a projection removed and later operators still read: sort keys, and
            the columns that distinguish NaNs.
        distinct: True if no two rows of all batches are known to be equal.
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
        """The rows at distinct positions; keeps the ``distinct`` flag."""
        return replace(self.take(rows), distinct=self.distinct)

    def expanded(self) -> Batch:
        """The rows repeated by their weights; the result has no weights."""
        if self.weights is None:
            return self
        rows = np.repeat(np.arange(self.row_count), self.weights.astype(np.int64))
        return replace(self, weights=None).take(rows)

    def adding(self, columns: Mapping[str, Operand]) -> Batch:
        """The rows with additional columns."""
        return replace(self, columns={**self.columns, **columns})

    def only(self, names: Iterable[str]) -> Batch:
        """The rows with these columns and the carried ones."""
        columns = {**{name: self.columns[name] for name in names}, **self.carried}
        return Batch(self.row_count, columns, self.weights)

    @property
    def element_count(self) -> int:
        """Number of elements of its lists and paths."""
        lists = (c.dictionary for c in self.columns.values() if isinstance(c, Column))
        return sum(int(e.offsets[-1]) for e in lists if isinstance(e, ColumnLists | PathRows))

    @property
    def carried(self) -> dict[str, Operand]:
        """The columns that every operator keeps (see `CARRIED`)."""
        return {n: column for n, column in self.columns.items() if n.startswith(CARRIED)}


def joined(batches: Sequence[Batch], columns: Sequence[str] = ()) -> Batch:
    """Concatenates batches with the same columns; ``columns`` names them if there is no batch."""
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
    """Merges small batches into larger ones.

    Args:
        batches: Batches with the same columns.
        enough: See `ExecutionContext`: if few rows suffice, the first batches stay small.
    """
    rows = _MAX_ROWS if enough is None else min(max(enough, _FEW_ROWS), _MAX_ROWS)
    waiting: list[Batch] = []
    count = elements = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.row_count
        elements += batch.element_count
        if count >= rows or elements >= _MAX_ELEMENTS:
            yield joined(waiting)
            waiting, count, elements, rows = [], 0, 0, min(2 * rows, _MAX_ROWS)
    if waiting:
        yield joined(waiting)


def in_pieces(batches: Iterable[Batch], enough: int | None) -> Iterator[Batch]:
    """Splits batches into pieces, small ones first, if few rows suffice (see `in_batches`)."""
    rows = _MAX_ROWS if enough is None else min(max(enough, _FEW_ROWS), _MAX_ROWS)
    for batch in batches:
        if enough is None or batch.row_count <= rows:
            yield batch
            continue
        start = 0
        while start < batch.row_count:
            yield batch.kept(np.arange(start, min(start + rows, batch.row_count)))
            start, rows = start + rows, 2 * rows


def flag_only_batch(batches: Iterable[Batch]) -> Iterator[tuple[Batch, bool]]:
    """Batches, each with a flag: True if it holds all rows of the input.

    To set the flag, batches with distinct rows are merged as long as the rows are few.
    """
    waiting: list[Batch] = []
    count, several = 0, False
    for batch in batches:
        if several or not batch.row_count:
            yield batch, False
            continue
        waiting.append(batch)
        count += batch.row_count
        several = len(waiting) > 1 and (count > _MAX_ROWS or not batch.distinct)
        if several:
            yield from ((each, False) for each in waiting)
    if waiting and not several:
        yield joined(waiting), True


def joined_weights(
    weights: Sequence[NDArray[np.uint64] | None], row_counts: Sequence[int]
) -> NDArray[np.uint64] | None:
    """Concatenated weights of several batches; None if all multiplicities are 1."""
    if all(each is None for each in weights):
        return None
    both = zip(weights, row_counts, strict=True)
    return np.concatenate([np.ones(n, np.uint64) if each is None else each for each, n in both])
