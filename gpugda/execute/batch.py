"""Batches: rows in named columns, passed between operators; tables of their operands."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.chunked_column import ChunkedColumn, can_be_chunked
from gpugda.data.values.columns import Column, ColumnKind, concatenate
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.deadline import check_time
from gpugda.expressions.lists import ColumnLists, PathRows, joined_lists
from gpugda.expressions.operands import Constant, Operand, as_column, distinct_values, take
from gpugda.expressions.temporal.rows import joined_moments
from gpugda.types import MAX_WEIGHT, value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


__all__ = [
    "CARRIED",
    "Batch",
    "RowTable",
    "flag_only_batch",
    "in_batches",
    "in_pieces",
    "joined",
    "joined_weights",
    "product_of",
    "stacked",
    "sum_of",
]


@value(frozen=True, slots=True, eq=False)
class RowTable:
    """A table of operands of equal length."""

    row_count: int
    columns: tuple[Operand, ...]

    def take(self, rows: NDArray[np.int64]) -> RowTable:
        """The rows at these positions."""
        return RowTable(len(rows), tuple(take(column, rows) for column in self.columns))


def stacked(tables: Sequence[RowTable]) -> RowTable:
    """Concatenates tables with the same columns."""
    tables = [table for table in tables if table.row_count] or tables[:1]
    if len(tables) == 1:
        return tables[0]
    counts = [table.row_count for table in tables]
    columns = zip(*(table.columns for table in tables), strict=True)
    return RowTable(sum(counts), tuple(_joined(pieces, counts) for pieces in columns))


def _joined(pieces: Sequence[Operand], counts: Sequence[int]) -> Operand:
    check_time()
    first = pieces[0]
    if isinstance(first, Constant) and all(_same(first, piece) for piece in pieces):
        return first
    columns = [as_column(piece, count) for piece, count in zip(pieces, counts, strict=True)]
    columns = [each for each in columns if len(each)] or columns[:1]
    counts = [len(each) for each in columns]
    if can_be_chunked(columns):
        return ChunkedColumn(columns)
    kinds = {each.kind for each in columns if each.valid is None or each.valid.any()}
    dictionaries = {id(column.dictionary) for column in columns}
    if len(kinds) > 1 or (ColumnKind.OBJECT in kinds and len(dictionaries) > 1):
        for join in (joined_moments, joined_lists):
            found = join(columns)
            if found is not None:
                return found
        return _joined_values(columns)
    return concatenate(columns, counts)


def _same(first: Constant, piece: Operand) -> bool:
    if not isinstance(piece, Constant):
        return False
    value, other = first.value, piece.value
    # 1 and 1.0 are equal in Python but different answers; NaN does not even equal itself.
    return value is other or (type(value) in (bool, int, str) and repr(value) == repr(other))


def _joined_values(columns: Sequence[Column]) -> Column:
    # The entries may be maps or hold nodes: query results can be values no property can hold.
    entries: list[Any] = []
    codes, valid = [], []
    for column in columns:
        places, values = distinct_values(column, len(column))
        codes.append(places.astype(np.int32) + np.int32(len(entries)))
        valid.append(np.array([value is not None for value in values], dtype=np.bool_)[places])
        entries.extend(values)
    return Column(
        ColumnKind.OBJECT, np.concatenate(codes), np.concatenate(valid), ObjectDictionary(entries)
    )


_HALF: Final = np.uint64(32)
_LOW: Final = np.uint64(0xFFFFFFFF)
_FEW: Final = 64
"""Up to this many are summed in Python, which is faster than NumPy."""


def product_of(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Products row by row; `MAX_WEIGHT` stands for anything larger, in inputs and results."""
    if int(one.max(initial=0)) * int(other.max(initial=0)) <= MAX_WEIGHT:
        return one * other
    most = np.uint64(MAX_WEIGHT)
    fits = (other == 0) | (one <= most // np.maximum(other, np.uint64(1)))
    return np.where(fits, one * other, most)


def sum_of(weights: NDArray[np.uint64]) -> int:
    """Exact sum of up to 2**32 weights: in two halves, neither of which overflows."""
    if len(weights) <= _FEW:
        return sum(weights.tolist())
    low = int((weights & _LOW).sum(dtype=np.uint64))
    return (int((weights >> _HALF).sum(dtype=np.uint64)) << 32) + low


CARRIED: Final = "\0row"
"""Prefix of columns that say which row of the outer query a row belongs to: every operator keeps
these columns and never combines rows of different outer rows."""

_MAX_ROWS: Final = 1 << 18
_FEW_ROWS: Final = 1 << 10
_MAX_ELEMENTS: Final = 1 << 19
"""Elements of lists and paths in a batch: operators check the time between batches."""


@value(frozen=True, slots=True, eq=False)
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
