"""Tables of operands: rows side by side, and concatenation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.chunked_column import ChunkedColumn, can_be_chunked
from gpugda.data.values.columns import Column, ColumnKind, concatenate
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.expressions.lists import joined_lists
from gpugda.expressions.operands import Constant, Operand, as_column, distinct_values, take
from gpugda.expressions.temporal.rows import joined_moments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["RowTable", "stacked"]


@dataclass(frozen=True, slots=True, eq=False)
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
