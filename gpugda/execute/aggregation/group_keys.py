"""Evaluates grouping keys, and refuses those whose NaNs Neo4j may or may not group.

Neo4j compares NaNs by Java object: which rows share an object depends on its plan. Only a property
of a node or relationship that is in one row is certainly an object of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.query import ast
from gpugda.values import is_nan

if TYPE_CHECKING:
    from collections.abc import Container

    from gpugda.expressions.environment import Environment

__all__ = ["group_key", "has_own_nans", "holds_nan", "nan_error", "refuse_nans"]


def group_key(
    expression: ast.Expression, environment: Environment, single: Container[str]
) -> Operand:
    """The values of a grouping key, or of the argument of a DISTINCT aggregate.

    Args:
        expression: The key.
        environment: Environment of the rows.
        single: Nodes and relationships that are in one row only.

    Raises:
        UnsupportedQueryError: Several rows may share a NaN.
    """
    operand = evaluate_operand(expression, environment)
    if not has_own_nans(expression, single):
        refuse_nans(operand)
    return operand


def has_own_nans(expression: ast.Expression, single: Container[str]) -> bool:
    """True if no two rows share a NaN: a property of a node or relationship in one row only."""
    if not isinstance(expression, ast.Property) or not isinstance(expression.subject, ast.Variable):
        return False
    return expression.subject.name in single


def refuse_nans(operand: Operand) -> None:
    """Refuses NaN among the values; NaN inside lists and maps is refused when rows are grouped.

    Raises:
        UnsupportedQueryError: A value is NaN.
    """
    if isinstance(operand, Constant):
        found = holds_nan(operand.value)
    elif operand.kind is ColumnKind.FLOAT:
        rows = np.isnan(operand.values)
        found = bool((rows if operand.valid is None else rows & operand.valid).any())
    elif isinstance(operand.dictionary, ObjectDictionary) and len(operand.dictionary):
        codes = operand.values if operand.valid is None else operand.values[operand.valid]
        used, _ = used_codes(codes, len(operand.dictionary))
        found = any(map(is_nan, operand.dictionary.values(used.astype(np.int32))))
    else:
        return
    if found:
        raise nan_error()


def holds_nan(value: Any) -> bool:
    """True for NaN, and for lists and maps that hold it at any depth."""
    if isinstance(value, list | dict):
        return any(map(holds_nan, value.values() if isinstance(value, dict) else value))
    return is_nan(value)


def nan_error() -> UnsupportedQueryError:
    """The error for a NaN that Neo4j's plan may or may not group with others."""
    message = (
        "grouping and DISTINCT by NaN are not supported by this engine, unless it is a property of"
        " a node or relationship that is in one row only"
    )
    return UnsupportedQueryError(message, construct="grouping by NaN")
