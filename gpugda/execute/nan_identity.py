"""What tells one NaN from another where rows are grouped.

NaN is the same as itself only: a node's property is the same as long as the node is. Who has it is
written into the digits of the NaN, which no expression reads, when a property is projected.
"""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.dictionaries import ObjectDictionary
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.query import ast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.expressions.environment import Environment

__all__ = ["evaluate_owned", "holds_nan", "owner_name", "refuse_lists", "row_identity"]

_NAN: Final = 0x7FF8 << 48
_DIGITS: Final = (1 << 51) - 1
_OF_RELATIONSHIPS: Final = 1 << 50


def evaluate_owned(expression: ast.Expression, environment: Environment) -> Operand:
    """As `evaluate_operand`; the NaNs of a property say whose they are, all others nothing.

    Args:
        expression: What is projected or grouped by.
        environment: Whose rows these are.
    """
    operand = evaluate_operand(expression, environment)
    if isinstance(expression, ast.Variable) or isinstance(operand, Constant):
        return operand
    if any(operand is each for each in (*environment.keys, *environment.aggregates)):
        return operand
    is_nan = _nan_rows(operand)
    if is_nan is None or not is_nan.any():
        return operand
    name = owner_name(expression)
    owner = None if name is None else environment.variables.get(name)
    numbers = np.zeros(len(operand), dtype=np.int64)
    if owner is not None and owner.kind in (ColumnKind.NODE, ColumnKind.RELATIONSHIP):
        numbers = owner.values.astype(np.int64) + 1
        numbers |= _OF_RELATIONSHIPS * (owner.kind is ColumnKind.RELATIONSHIP)
    return _with_digits(operand, is_nan, numbers)


def owner_name(expression: ast.Expression) -> str | None:
    """The variable whose property it is: its NaNs are those of what has it."""
    if isinstance(expression, ast.Property) and isinstance(expression.subject, ast.Variable):
        return expression.subject.name
    return None


def holds_nan(operand: Operand) -> bool:
    """Is there a NaN that rows have as a value?"""
    found = None if isinstance(operand, Constant) else _nan_rows(operand)
    return found is not None and bool(found.any())


def row_identity(operand: Operand, first_row: int) -> Operand:
    """What tells one NaN from another when rows are grouped by ``operand``.

    0 for rows that hold no NaN. A NaN whose owner is not known is another one in each row.

    Args:
        operand: What is grouped by.
        first_row: Number of rows that came before.
    """
    is_nan = None if isinstance(operand, Constant) else _nan_rows(operand)
    if is_nan is None or isinstance(operand, Constant) or not is_nan.any():
        return Constant(0)
    if operand.valid is not None:
        is_nan &= operand.valid
    digits = _digits(operand)
    rows = np.arange(first_row + 1, first_row + len(operand) + 1, dtype=np.int64)
    told = np.where(digits > 0, -digits, rows)
    return Column(ColumnKind.INTEGER, np.where(is_nan, told, 0))


def refuse_lists(operand: Operand) -> None:
    """What was computed and is grouped by must hold no NaN inside a list or a map.

    Whether two such lists are one depends on which Java objects Neo4j has made of them.

    Raises:
        UnsupportedQueryError: It does.
    """
    if isinstance(operand, Constant):
        values = [operand.value]
    elif operand.kind is ColumnKind.OBJECT and operand.dictionary:
        values, _ = _used_values(operand)
    else:
        return
    if any(isinstance(each, list | dict) and _has_nan(each) for each in values):
        message = "groups and DISTINCT by a computed list or map with NaN are not answered here"
        raise UnsupportedQueryError(message, construct="grouping by lists with NaN")


def _has_nan(value: Any) -> bool:
    """Is it a NaN, or does it hold one?"""
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return any(map(_has_nan, value))


def _nan_rows(column: Column) -> NDArray[np.bool_] | None:
    """Where a column of numbers, or of mixed values, holds NaN; None where it cannot."""
    rows: NDArray[np.bool_]
    if column.kind is ColumnKind.FLOAT:
        rows = np.isnan(column.values)
        return rows
    if column.kind is not ColumnKind.OBJECT or not column.dictionary:
        return None
    values, places = _used_values(column)
    is_nan = [isinstance(value, float) and math.isnan(value) for value in values]
    rows = np.array(is_nan, dtype=np.bool_)[places]
    return rows


def _used_values(column: Column) -> tuple[list[Any], NDArray[np.int64]]:
    assert column.dictionary is not None
    used, places = used_codes(column.values, len(column.dictionary))
    return column.dictionary.values(used.astype(np.int32)), places


def _digits(column: Column) -> NDArray[np.int64]:
    """What the digits of each NaN say; anything in other rows."""
    if column.kind is ColumnKind.FLOAT:
        return np.ascontiguousarray(column.values).view(np.int64) & _DIGITS
    values, places = _used_values(column)
    digits = [_digits_of(each) if isinstance(each, float) else 0 for each in values]
    return np.array(digits, dtype=np.int64)[places]


def _digits_of(number: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return bits & _DIGITS


def _with_digits(column: Column, is_nan: NDArray[np.bool_], numbers: NDArray[np.int64]) -> Column:
    if column.kind is ColumnKind.FLOAT:
        made = (numbers | _NAN).view(np.float64)
        return replace(column, values=np.where(is_nan, made, column.values))
    values, places = _used_values(column)
    owners, owned = np.unique(numbers[is_nan], return_inverse=True)
    made = (owners | _NAN).view(np.float64).tolist()
    codes = places.astype(np.int32)
    codes[is_nan] = len(values) + owned.reshape(-1)
    return replace(column, values=codes, dictionary=ObjectDictionary([*values, *made]))
