"""Which rows are the same: integer codes per column, combined, and counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.query import ast
from gpugda.values import group_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.environment import Environment

__all__ = ["Groups", "group_rows", "nan_identity", "row_identity", "single_rows"]

_LARGEST_CODE = 2**62
_TABLE_ROWS = 8  # a table by code may be this much longer than the rows are many
_SMALL_TABLE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Rows that are the same.

    Args:
        first: ``int64`` per group: its first row. Groups are numbered by their first rows.
        group_of: ``int64`` per row: the number of its group.
    """

    first: NDArray[np.int64]
    group_of: NDArray[np.int64]


def group_rows(operands: Sequence[Operand], row_count: int) -> Groups:
    """Groups of the rows that have the same values, in the sense of DISTINCT."""
    codes, count = np.zeros(row_count, dtype=np.int64), 1
    for operand in operands:
        if isinstance(operand, Constant) or row_count == 0:
            continue
        more, more_count = _codes_of(operand)
        if count * more_count > _LARGEST_CODE:
            codes, count = _dense(codes, count)
        if count * more_count > _LARGEST_CODE:
            more, more_count = _dense(more, more_count)
        codes, count = codes * more_count + more, count * more_count
    return _groups(codes, count)


def single_rows(row_count: int) -> Groups:
    """A group per row."""
    rows = np.arange(row_count)
    return Groups(rows, rows)


def nan_identity(
    expression: ast.Expression, operand: Operand, environment: Environment, first_row: int
) -> Operand:
    """What tells one NaN from another when rows are grouped by ``operand``.

    NaN is the same as itself only: a node's property is the same as long as the node is. 0 for rows
    that hold no NaN.

    Args:
        expression: Where the operand comes from.
        operand: What is grouped by.
        environment: Whose rows these are.
        first_row: Number of rows that came before.
    """
    owner = None
    if isinstance(expression, ast.Property) and isinstance(expression.subject, ast.Variable):
        owner = environment.variables[expression.subject.name]
    return row_identity(operand, first_row, owner)


def row_identity(operand: Operand, first_row: int, owner: Column | None = None) -> Operand:
    """As `nan_identity` where the operand is a property of an owner, or of who knows what."""
    is_nan = None if isinstance(operand, Constant) else _nan_rows(operand)
    if is_nan is None or isinstance(operand, Constant) or not is_nan.any():
        return Constant(0)
    numbers: NDArray[Any] = np.arange(first_row, first_row + len(operand), dtype=np.int64)
    if owner is not None:
        numbers = owner.values.astype(np.int64)
    if operand.valid is not None:
        is_nan &= operand.valid
    return Column(ColumnKind.INTEGER, np.where(is_nan, numbers + 1, 0))


def _nan_rows(column: Column) -> NDArray[np.bool_] | None:
    """Where a column of numbers, or of mixed values, holds NaN; None where it cannot."""
    rows: NDArray[np.bool_]
    if column.kind is ColumnKind.FLOAT:
        rows = np.isnan(column.values)
        return rows
    if column.kind is not ColumnKind.OBJECT or not column.dictionary:
        return None
    used, places = used_codes(column.values, len(column.dictionary))
    values = column.dictionary.values(used.astype(np.int32))
    is_nan = [isinstance(value, float) and math.isnan(value) for value in values]
    rows = np.array(is_nan, dtype=np.bool_)[places]
    return rows


# ------------------------------------------------------------------ codes
def _codes_of(column: Column) -> tuple[NDArray[np.int64], int]:
    """Codes from 0, equal for equal values, and how many there may be; null has one too."""
    codes, count = _codes_of_values(column)
    if column.valid is None:
        return codes, count
    return np.where(column.valid, codes, count), count + 1


def _codes_of_values(column: Column) -> tuple[NDArray[np.int64], int]:
    values = column.values
    if column.kind is ColumnKind.FLOAT:
        zeros_alike = np.where(np.isnan(values), np.nan, values + 0.0)
        return _distinct(zeros_alike.view(np.int64))
    if column.kind is ColumnKind.OBJECT:
        return _codes_of_objects(column)
    if column.kind is ColumnKind.INTEGER:
        low, high = int(values.min()), int(values.max())
        if high - low >= _TABLE_ROWS * len(values) + _SMALL_TABLE:
            return _distinct(values)
        return values - low, high - low + 1
    return values.astype(np.int64), int(values.max()) + 1


def _codes_of_objects(column: Column) -> tuple[NDArray[np.int64], int]:
    dictionary = column.dictionary
    if dictionary is None or len(dictionary) == 0:  # then all rows are null
        return np.zeros(len(column), dtype=np.int64), 1
    used, places = used_codes(column.values, len(dictionary))
    numbers: dict[Any, int] = {}
    codes = [
        numbers.setdefault(group_key(value), len(numbers))
        for value in dictionary.values(used.astype(np.int32))
    ]
    return np.array(codes, dtype=np.int64)[places], len(numbers)


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    distinct, codes = np.unique(values, return_inverse=True)
    return codes.reshape(-1), len(distinct)


def _dense(codes: NDArray[np.int64], count: int) -> tuple[NDArray[np.int64], int]:
    if _fits_table(count, len(codes)):
        used, places = used_codes(codes, count)
        return places, len(used)
    return _distinct(codes)


def _fits_table(count: int, row_count: int) -> bool:
    return count <= _TABLE_ROWS * row_count + _SMALL_TABLE


# ------------------------------------------------------------------ groups
def _groups(codes: NDArray[np.int64], count: int) -> Groups:
    if not _fits_table(count, len(codes)):
        _, first, group_of = np.unique(codes, return_index=True, return_inverse=True)
        order = np.argsort(first)
        numbers = np.empty(len(first), dtype=np.int64)
        numbers[order] = np.arange(len(first))
        return Groups(first[order], numbers[group_of.reshape(-1)])
    table = np.full(count, -1, dtype=np.int64)
    # Written from the last row to the first, so that the first one stays.
    table[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    first = np.sort(table[table >= 0])
    table[codes[first]] = np.arange(len(first))
    return Groups(first, table[codes])
