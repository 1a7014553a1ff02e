"""Reads comparisons such as ``COUNT { … } > 0`` as ``EXISTS { … }``, which stops at a first row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gpugda.plan import logical
from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator as Is
from gpugda.query.shapes import rewrite
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.plan.facts import Facts
    from gpugda.plan.logical import Logical

__all__ = ["count_as_exists"]

T = TypeVar("T", logical.Expand, logical.Filter, logical.StepPattern)

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


def count_as_exists(tree: Logical, facts: Facts) -> Logical:
    """The tree with these comparisons replaced in all conditions."""
    match tree:
        case logical.Filter():
            tree = _replaced(tree, "predicates", _read(tree.predicates))
        case logical.Expand():
            for name in ("path_predicates", "late_predicates", "few_predicates"):
                tree = _replaced(tree, name, _read(getattr(tree, name)))
            step = tree.step
            if step is not None:
                tree = _replaced(
                    tree, "step", _replaced(step, "predicates", _read(step.predicates))
                )
    return logical.with_children(tree, lambda each: count_as_exists(each, facts))


def _replaced(node: T, name: str, new: Any) -> T:
    return node if new is getattr(node, name) else replace(node, **{name: new})


def _read(predicates: tuple[ast.Expression, ...]) -> tuple[ast.Expression, ...]:
    counts = (isinstance(part, ast.CountSubquery) for each in predicates for part in walk(each))
    return tuple(rewrite(each, _existence) for each in predicates) if any(counts) else predicates


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
