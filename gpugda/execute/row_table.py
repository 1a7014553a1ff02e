"""Operands side by side, and one below the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind, concatenate
from gpugda.data.dictionaries import ObjectDictionary
from gpugda.data.pieces import PiecedColumn, can_stay_apart
from gpugda.expressions.operands import Constant, Operand, as_column, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["RowTable", "stacked"]


@dataclass(frozen=True, slots=True, eq=False)
class RowTable:
    """Rows of operands."""

    row_count: int
    columns: tuple[Operand, ...]

    def take(self, rows: NDArray[np.int64]) -> RowTable:
        """The rows at these positions."""
        return RowTable(len(rows), tuple(take(column, rows) for column in self.columns))


def stacked(tables: Sequence[RowTable]) -> RowTable:
    """All rows of tables with the same columns, in their order."""
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
    if can_stay_apart(columns):
        return PiecedColumn(columns)
    dictionaries = {id(column.dictionary) for column in columns}
    if len(dictionaries) > 1 and any(column.kind is ColumnKind.OBJECT for column in columns):
        return _joined_objects(columns)
    return concatenate(columns, counts)


def _same(first: Constant, piece: Operand) -> bool:
    if not isinstance(piece, Constant):
        return False
    value, other = first.value, piece.value
    # 1 and 1.0 are equal in Python, but not the same answer; NaN is not even equal to itself.
    return value is other or (type(value) in (bool, int, str) and repr(value) == repr(other))


def _joined_objects(columns: Sequence[Column]) -> Column:
    # The entries may be maps and hold nodes: what a query made, which no property can be.
    entries: list[Any] = []
    codes, valid = [], []
    for column in columns:
        first = len(entries)
        valid.append(np.ones(len(column), np.bool_) if column.valid is None else column.valid)
        if isinstance(column.dictionary, ObjectDictionary):
            entries.extend(column.dictionary.entries)
            codes.append(column.values + np.int32(first))
        else:
            assert not valid[-1].any(), "an expression has one kind of values"
            codes.append(np.zeros(len(column), dtype=np.int32))
    return Column(
        ColumnKind.OBJECT, np.concatenate(codes), np.concatenate(valid), ObjectDictionary(entries)
    )
