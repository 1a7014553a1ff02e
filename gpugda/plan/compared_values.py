"""Comparisons between a value of one variable and a value of another variable."""

from __future__ import annotations

from dataclasses import dataclass

from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator
from gpugda.query.shapes import variable_names

__all__ = ["ComparedValues", "compared_values"]

_NEGATED = {
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
}


@dataclass(frozen=True, slots=True)
class ComparedValues:
    """``left operator right``, where each side reads exactly one variable.

    Args:
        left_name: The variable of the left side.
        left: The left expression.
        operator: The comparison operator.
        right_name: The variable of the right side, a different one.
        right: The right expression.
    """

    left_name: str
    left: ast.Expression
    operator: ComparisonOperator
    right_name: str
    right: ast.Expression


def compared_values(predicate: ast.Expression) -> ComparedValues | None:
    """The compared values of a predicate, also of ``NOT a.x = b.x``; None for any other form."""
    negated = False
    while isinstance(predicate, ast.Unary) and predicate.operator is ast.UnaryOperator.NOT:
        predicate, negated = predicate.operand, not negated
    if not isinstance(predicate, ast.Comparison) or len(predicate.operators) != 1:
        return None
    (left, right), (operator,) = predicate.operands, predicate.operators
    if negated:
        # NOT (a.x < b.x) is not a.x >= b.x: both comparisons are false if a side is NaN.
        if operator not in _NEGATED:
            return None
        operator = _NEGATED[operator]
    names = [tuple(variable_names(side)) for side in (left, right)]
    if [len(each) for each in names] != [1, 1] or names[0] == names[1]:
        return None
    return ComparedValues(names[0][0], left, operator, names[1][0], right)
