"""Merges operands, each with the rows it provides, into one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gpugda.data.values.columns import Column, ColumnKind, constant_null
from gpugda.data.values.dictionaries import (
    ObjectDictionary,
    StringDictionary,
    encode_strings,
    merge_strings,
)
from gpugda.expressions.lists import joined_lists
from gpugda.expressions.operands import Constant, Operand, as_column, distinct_values
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Piece", "scattered", "selected_values"]

Piece: TypeAlias = tuple[NDArray[Any], Operand]
"""Row positions (or a mask of all rows), and the values assigned to them in that order."""

_DTYPES: dict[ColumnKind, Any] = {
    ColumnKind.BOOLEAN: np.bool_,
    ColumnKind.INTEGER: np.int64,
    ColumnKind.FLOAT: np.float64,
    ColumnKind.NODE: np.uint32,
    ColumnKind.RELATIONSHIP: np.uint32,
}


def scattered(pieces: Sequence[Piece], row_count: int) -> Column:
    """A column of ``row_count`` rows; rows in no piece are null."""
    known = [(rows, operand) for rows, operand in pieces if not _is_null(operand)]
    kinds = {_kind(operand) for _, operand in known}
    if not kinds:
        return constant_null(row_count)
    if len(kinds) > 1 or kinds == {ColumnKind.OBJECT}:
        columns = [operand for _, operand in known if isinstance(operand, Column)]
        lists = joined_lists(columns) if len(columns) == len(known) else None
        if lists is None:
            return _objects(known, row_count)
        codes = np.zeros(row_count, dtype=np.int32)
        ends = np.cumsum([len(each) for each in columns])
        for (rows, _), found in zip(known, np.split(lists.values, ends[:-1]), strict=True):
            codes[rows] = found
        return Column(ColumnKind.OBJECT, codes, _valid(known, row_count), lists.dictionary)
    (kind,) = kinds
    if kind is ColumnKind.STRING:
        return _texts(known, row_count)
    values = np.zeros(row_count, dtype=_DTYPES[kind])
    for rows, operand in known:
        values[rows] = _raw(operand)
    return Column(kind, values, _valid(known, row_count))


def selected_values(chosen: Sequence[tuple[Any, Operand]], row_count: int) -> Column | None:
    """As `scattered`, if all operands are integers, floats, or constant texts; else None.

    Operands cover all rows.

    Args:
        chosen: Disjoint masks with their operands.
        row_count: Number of rows.
    """
    chosen = [(rows, operand) for rows, operand in chosen if not _is_null(operand)]
    kinds = {_kind(operand) for _, operand in chosen}
    constant = all(isinstance(operand, Constant) for _, operand in chosen)
    if kinds == {ColumnKind.STRING} and constant:
        texts = pa.array([_raw(operand) for _, operand in chosen], type=pa.large_string())
        codes, dictionary = encode_strings(texts)
        numbers, valid = _looked_up([rows for rows, _ in chosen], codes)
        return Column(ColumnKind.STRING, numbers, valid, dictionary)
    if len(kinds) != 1 or not kinds <= {ColumnKind.INTEGER, ColumnKind.FLOAT}:
        return None
    dtype = _DTYPES[kinds.pop()]
    if constant:
        table = np.array([_raw(operand) for _, operand in chosen], dtype=dtype)
        values, valid = _looked_up([rows for rows, _ in chosen], table)
        return Column(_OF_DTYPES[dtype], values, valid)
    pieces, masks = [], []
    for rows, operand in chosen:
        if isinstance(operand, Column):
            pieces.append((rows, operand.values.view(np.int64)))
            masks.append(rows if operand.valid is None else rows & operand.valid)
        else:
            pieces.append((rows, np.array(operand.value, dtype=dtype).view(np.int64)))
            masks.append(rows)
    # Disjoint masks that cover all rows allow blending; otherwise sum, with 0 in other rows.
    covered = sum(np.count_nonzero(rows) for rows, _ in pieces) == row_count
    nonzero = [(rows, raw) for rows, raw in pieces if raw.ndim or raw != 0]
    summed = len(nonzero) == 1 or not covered
    values = (_sums(nonzero, row_count) if summed else _blended(pieces, row_count)).view(dtype)
    return Column(_OF_DTYPES[dtype], values, _some(masks))


def _looked_up(
    masks: Sequence[NDArray[np.bool_]], table: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """The table entry of the mask that covers each row, and the covered rows; None for all."""
    row_count = len(masks[0])
    if table.dtype.kind == "i" and np.abs(table).max() < _SHORT // 2:
        return _small_numbers(masks, table), _some(masks)
    short: type[np.uint8 | np.int64] = np.uint8 if len(masks) < _SHORT else np.int64
    numbers: NDArray[Any] = np.zeros(row_count, dtype=short)
    for number, rows in enumerate(masks, 1):
        numbers += rows.view(np.uint8) * short(number)
    entries = np.concatenate([np.zeros(1, dtype=table.dtype), table])
    values = np.empty(row_count, dtype=table.dtype)
    places = np.empty(_BLOCK, dtype=np.intp)
    for start in range(0, row_count, _BLOCK):
        block = values[start : start + _BLOCK]
        wide = places[: len(block)]
        np.copyto(wide, numbers[start : start + _BLOCK])
        np.take(entries, wide, out=block, mode="clip")  # all indexes are in range
    valid = numbers > 0
    return values, None if valid.all() else valid


def _small_numbers(masks: Sequence[NDArray[np.bool_]], table: NDArray[Any]) -> NDArray[Any]:
    """As `_looked_up`, for one-byte numbers: summed, since masks are disjoint."""
    values = np.zeros(len(masks[0]), dtype=np.int8)
    for rows, number in zip(masks, table.astype(np.int8), strict=True):
        values += rows.view(np.int8) * number
    return values.astype(table.dtype)


def _some(masks: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_] | None:
    """The union of disjoint masks; None if it covers all rows."""
    if sum(map(np.count_nonzero, masks)) == len(masks[0]):
        return None
    rows: NDArray[np.bool_] = np.logical_or.reduce(masks)
    return rows


_SHORT = 1 << 8
_OF_DTYPES = {np.int64: ColumnKind.INTEGER, np.float64: ColumnKind.FLOAT}
_BLOCK = 1 << 14
"""Rows whose numbers fit in the processor's cache."""


def _sums(
    pieces: Sequence[tuple[NDArray[np.bool_], NDArray[np.int64]]], row_count: int
) -> NDArray[np.int64]:
    """Bit pattern of each row's number, 0 in rows without a mask.

    Multiplying by a random mask is many times as fast as branching on it.
    """
    values = np.empty(row_count, dtype=np.int64)
    bits = np.empty(_BLOCK, dtype=np.int64)
    for start in range(0, row_count, _BLOCK):
        part = slice(start, start + _BLOCK)
        block = values[part]
        for number, (rows, raw) in enumerate(pieces):
            out = bits[: len(block)] if number else block
            np.multiply(rows[part], raw[part] if raw.ndim else raw, out=out)
            if number:
                block |= out
    return values


def _blended(
    pieces: Sequence[tuple[NDArray[np.bool_], NDArray[np.int64]]], row_count: int
) -> NDArray[np.int64]:
    """Bit pattern of each row's number, if the masks cover all rows."""
    values = np.empty(row_count, dtype=np.int64)
    differing, chosen = np.empty((2, _BLOCK), dtype=np.int64)
    *first, (_, last) = pieces
    for start in range(0, row_count, _BLOCK):
        part = slice(start, start + _BLOCK)
        block = values[part]
        bits, ones = differing[: len(block)], chosen[: len(block)]
        before = last[part] if last.ndim else last
        for rows, raw in first:
            np.copyto(ones, rows[part].view(np.int8))
            np.negative(ones, out=ones)
            np.bitwise_xor(before, raw[part] if raw.ndim else raw, out=bits)
            bits &= ones
            before = np.bitwise_xor(before, bits, out=block)
    return values


def _is_null(operand: Operand) -> bool:
    if isinstance(operand, Constant):
        return operand.value is None
    return operand.valid is not None and not operand.valid.any()


def _kind(operand: Operand) -> ColumnKind:
    if isinstance(operand, Column):
        return operand.kind
    value = operand.value
    if isinstance(value, Entity):
        return ColumnKind.NODE if value.is_node else ColumnKind.RELATIONSHIP
    return _KINDS.get(type(value), ColumnKind.OBJECT)


_KINDS = {
    bool: ColumnKind.BOOLEAN,
    int: ColumnKind.INTEGER,
    float: ColumnKind.FLOAT,
    str: ColumnKind.STRING,
}


def _raw(operand: Operand) -> Any:
    if isinstance(operand, Column):
        return operand.values
    value = operand.value
    return value.index if isinstance(value, Entity) else value


def _valid(pieces: Sequence[Piece], row_count: int) -> NDArray[np.bool_] | None:
    valid = np.zeros(row_count, dtype=np.bool_)
    for rows, operand in pieces:
        known = operand.valid if isinstance(operand, Column) else None
        valid[rows] = True if known is None else known
    return None if valid.all() else valid


def _texts(pieces: Sequence[Piece], row_count: int) -> Column:
    columns = [as_column(operand, 1) for _, operand in pieces]
    dictionaries: list[StringDictionary] = []
    for column in columns:
        assert isinstance(column.dictionary, StringDictionary)
        dictionaries.append(column.dictionary)
    codes = np.zeros(row_count, dtype=np.int32)
    valid = _valid(pieces, row_count)
    if all(each is dictionaries[0] for each in dictionaries):
        for (rows, _), column in zip(pieces, columns, strict=True):
            codes[rows] = column.values
        return Column(ColumnKind.STRING, codes, valid, dictionaries[0])
    merged, new_codes = merge_strings(dictionaries)
    for (rows, _), column, new in zip(pieces, columns, new_codes, strict=True):
        if len(new):
            codes[rows] = new[column.values]
    return Column(ColumnKind.STRING, codes, valid, merged)


def _objects(pieces: Sequence[Piece], row_count: int) -> Column:
    entries: list[Any] = []
    codes = np.zeros(row_count, dtype=np.int32)
    for rows, operand in pieces:
        count = len(operand) if isinstance(operand, Column) else 1
        places, values = distinct_values(operand, count)
        codes[rows] = places + len(entries)
        entries += values
    valid = _valid(pieces, row_count)
    return Column(ColumnKind.OBJECT, codes, valid, ObjectDictionary(entries))
