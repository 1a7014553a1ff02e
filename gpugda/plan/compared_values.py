"""Conditions that compare a value of one variable with a value of another one."""

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
    """``left operator right``, each side about one variable.

    Args:
        left_name: Variable of the left side.
        left: The side.
        operator: What is asked.
        right_name: Variable of the right side, another one.
        right: The side.
    """

    left_name: str
    left: ast.Expression
    operator: ComparisonOperator
    right_name: str
    right: ast.Expression


def compared_values(predicate: ast.Expression) -> ComparedValues | None:
    """The two values, where the predicate is of this form; ``NOT a.x = b.x`` is."""
    negated = False
    while isinstance(predicate, ast.Unary) and predicate.operator is ast.UnaryOperator.NOT:
        predicate, negated = predicate.operand, not negated
    if not isinstance(predicate, ast.Comparison) or len(predicate.operators) != 1:
        return None
    (left, right), (operator,) = predicate.operands, predicate.operators
    if negated:
        # NOT (a.x < b.x) is no other comparison: both are false where one side is NaN.
        if operator not in _NEGATED:
            return None
        operator = _NEGATED[operator]
    names = [tuple(variable_names(side)) for side in (left, right)]
    if [len(each) for each in names] != [1, 1] or names[0] == names[1]:
        return None
    return ComparedValues(names[0][0], left, operator, names[1][0], right)
