"""What tells one NaN from another where rows are grouped."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.query import ast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.expressions.environment import Environment

__all__ = ["holds_nan", "nan_identity", "owner_name", "row_identity"]


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
    name = owner_name(expression)
    owner = None if name is None else environment.variables[name]
    return row_identity(operand, first_row, owner)


def owner_name(expression: ast.Expression) -> str | None:
    """The variable whose property it is: its NaNs are those of what has it."""
    if isinstance(expression, ast.Property) and isinstance(expression.subject, ast.Variable):
        return expression.subject.name
    return None


def holds_nan(operand: Operand) -> bool:
    """Is there a NaN that rows have as a value?"""
    found = None if isinstance(operand, Constant) else _nan_rows(operand)
    return found is not None and bool(found.any())


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
