"""Reads comparisons such as ``COUNT { … } > 0`` as ``EXISTS { … }``, which stops at a first row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator as Is
from gpugda.query.shapes import conjuncts, join_by_ampersand, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["where_conjuncts"]

_REVERSED: Final = {
    Is.EQUAL: Is.EQUAL,
    Is.NOT_EQUAL: Is.NOT_EQUAL,
    Is.LESS: Is.GREATER,
    Is.LESS_EQUAL: Is.GREATER_EQUAL,
    Is.GREATER: Is.LESS,
    Is.GREATER_EQUAL: Is.LESS_EQUAL,
}
_HOLDS_FOR_ROWS: Final = {
    (Is.GREATER, 0): True,
    (Is.NOT_EQUAL, 0): True,
    (Is.GREATER_EQUAL, 1): True,
    (Is.EQUAL, 0): False,
    (Is.LESS_EQUAL, 0): False,
    (Is.LESS, 1): False,
}
"""By operator and number: whether a count of rows compares so if there is a row, or if none is."""


def where_conjuncts(where: ast.Expression) -> Iterator[ast.Expression]:
    """The operands of AND in a condition."""
    return conjuncts(join_by_ampersand(rewrite(where, _existence)))


def _existence(part: ast.Expression) -> ast.Expression | None:
    if not isinstance(part, ast.Comparison) or len(part.operators) != 1:
        return None
    (left, right), (sign,) = part.operands, part.operators
    if isinstance(right, ast.CountSubquery):
        left, right, sign = right, left, _REVERSED[sign]
    if not isinstance(left, ast.CountSubquery) or not isinstance(right, ast.Literal):
        return None
    if type(right.value) is not int:
        return None
    holds = _HOLDS_FOR_ROWS.get((sign, right.value))
    if holds is None:
        return None
    exists = ast.ExistsSubquery(left.span, left.query)
    return exists if holds else ast.Unary(part.span, ast.UnaryOperator.NOT, exists)
