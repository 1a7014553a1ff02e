"""Distinguishes NaNs when rows are grouped.

A NaN equals only itself: a node's property is the same NaN as long as the node is the same, and a
NaN computed in a row is the same in all rows derived from it. The owner, or the number of the row,
is written into the payload of the NaN when it is projected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.nan_creation import creates_own_nan, is_constant_folded
from gpugda.execute.nan_payload import (
    INPUT_SHIFT,
    MAX_INPUTS,
    RELATIONSHIP_MARK,
    ROW_MARK,
    is_nan,
    nan_rows,
    payloads_of,
    row_payloads,
    used_values,
    with_payloads,
)
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Constant, Operand, as_column
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Container

    from numpy.typing import NDArray

    from gpugda.expressions.environment import Environment

__all__ = [
    "as_union_input",
    "creates_nans",
    "evaluate_owned",
    "owned_by_row",
    "owner_name",
    "refuse_lists",
    "row_identity",
    "weighted_nan_error",
    "without_row_owners",
]


def evaluate_owned(
    expression: ast.Expression, environment: Environment, owners: Container[str]
) -> Operand:
    """As `evaluate_operand`; each NaN's payload names its owner or the row that created it.

    The payload is 0 if neither is known, and for a property of an entity that several rows may
    hold: Neo4j creates one NaN per row if its plan reads the property late, one in all if early.

    Args:
        expression: The projected expression or grouping key.
        environment: Environment of the rows.
        owners: Names of nodes and relationships that are distinct over all rows.
    """
    operand = evaluate_operand(expression, environment)
    if isinstance(expression, ast.Variable):
        return operand
    if any(operand is each for each in (*environment.keys, *environment.aggregates)):
        return operand
    if isinstance(operand, Constant):
        if not is_nan(operand.value) or is_constant_folded(expression):
            return operand
        operand = as_column(operand, environment.row_count)
    rows = nan_rows(operand)
    if rows is None:
        return operand
    return with_payloads(operand, rows, _numbers(expression, environment, owners))


def _numbers(
    expression: ast.Expression, environment: Environment, owners: Container[str]
) -> NDArray[np.int64]:
    """NaN payload of each row; 0 if the identity is unknown."""
    name = owner_name(expression)
    if name is None and creates_own_nan(expression, environment):
        return row_payloads(environment.row_count)
    owner = environment.variables.get(name) if name is not None and name in owners else None
    if owner is None or owner.kind not in (ColumnKind.NODE, ColumnKind.RELATIONSHIP):
        return np.zeros(environment.row_count, dtype=np.int64)
    numbers = owner.values.astype(np.int64) + 1
    return numbers | RELATIONSHIP_MARK * (owner.kind is ColumnKind.RELATIONSHIP)


def owner_name(expression: ast.Expression) -> str | None:
    """The variable whose property the expression is, which owns its NaNs; None if there is none."""
    if isinstance(expression, ast.Property) and isinstance(expression.subject, ast.Variable):
        return expression.subject.name
    return None


def creates_nans(expression: ast.Expression, operand: Operand) -> bool:
    """True if each row creates its own NaN, so that no row may stand for several."""
    if isinstance(expression, ast.Variable) or owner_name(expression) is not None:
        return False
    return nan_rows(operand) is not None


def weighted_nan_error() -> UnsupportedQueryError:
    """The error for a NaN computed in rows with weights: each equal row would create its own."""
    message = "grouping by a NaN that rows compute one by one is not supported by this engine"
    return UnsupportedQueryError(message, construct="grouping by NaN")


def owned_by_row(operand: Operand, *, known: bool) -> Operand:
    """The operand with NaNs that belong to their row alone, or whose identity is unknown."""
    rows = nan_rows(operand)
    if rows is None or isinstance(operand, Constant):
        return operand
    numbers = row_payloads(len(rows)) if known else np.zeros(len(rows), dtype=np.int64)
    return with_payloads(operand, rows, numbers)


def without_row_owners(operand: Operand) -> Operand:
    """The operand with unknown identity for NaNs that a row created."""
    rows = nan_rows(operand)
    if rows is None or isinstance(operand, Constant):
        return operand
    payloads = payloads_of(operand)
    return with_payloads(operand, rows, np.where(payloads & ROW_MARK, 0, payloads))


def as_union_input(operand: Operand, row_count: int, place: int, *, known: bool) -> Operand:
    """The operand as read by one input of a UNION: its NaNs differ from those of other inputs.

    Args:
        operand: A column of the input.
        row_count: Number of rows of the input.
        place: Number of the input.
        known: True if the input itself read all properties.
    """
    if isinstance(operand, Constant):
        return as_column(operand, row_count) if is_nan(operand.value) else operand
    rows = nan_rows(operand)
    if rows is None:
        return operand
    payloads = payloads_of(operand)
    is_owned = (payloads > 0) & (payloads & ROW_MARK == 0)
    apart = (
        payloads | place << INPUT_SHIFT if known and place < MAX_INPUTS else np.zeros_like(payloads)
    )
    return with_payloads(operand, rows, np.where(is_owned, apart, payloads))


def row_identity(operand: Operand) -> Operand:
    """A column that distinguishes NaNs in a grouping by ``operand``; 0 where there is no NaN.

    Raises:
        UnsupportedQueryError: The identity of a NaN is unknown.
    """
    rows = nan_rows(operand)
    if rows is None or isinstance(operand, Constant):
        return Constant(0)
    if operand.valid is not None:
        rows &= operand.valid
    payloads = payloads_of(operand)
    if (rows & (payloads == 0)).any():
        message = (
            "grouping and DISTINCT by a NaN that came through an expression, or is a property of an"
            " entity in several rows, are not supported by this engine"
        )
        raise UnsupportedQueryError(message, construct="grouping by NaN")
    return Column(ColumnKind.INTEGER, np.where(rows, payloads, 0))


def refuse_lists(operand: Operand) -> None:
    """Refuses computed grouping keys with a NaN inside a list or a map.

    Equality of two such lists depends on which Java objects Neo4j created.

    Raises:
        UnsupportedQueryError: A list or map contains NaN.
    """
    if isinstance(operand, Constant):
        values = [operand.value]
    elif operand.kind is ColumnKind.OBJECT and operand.dictionary:
        values, _ = used_values(operand)
    else:
        return
    if any(isinstance(each, list | dict) and _has_nan(each) for each in values):
        message = (
            "grouping and DISTINCT by a computed list or map with NaN are not supported by this"
            " engine"
        )
        raise UnsupportedQueryError(message, construct="grouping by lists with NaN")


def _has_nan(value: Any) -> bool:
    """True if the value is NaN or contains one."""
    if isinstance(value, float):
        return is_nan(value)
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return False
    return any(map(_has_nan, value))
