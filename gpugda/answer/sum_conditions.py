"""Sums as conditions, ``WHERE n.x + 1``, which Neo4j reads by its plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Two
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.query.statement import Statement

__all__ = ["refuse_sums_as_conditions"]

_BOOLEAN: Final = (Two.AND, Two.OR, Two.XOR)


def refuse_sums_as_conditions(query: Statement) -> None:
    """Refuses a condition that is a sum: no row passes it in Neo4j, or it is an error.

    Raises:
        UnsupportedQueryError: The query has such a condition.
    """
    for part in walk(query.tree):
        condition = part.predicate if isinstance(part, ast.Filter) else getattr(part, "where", None)
        if isinstance(part, ast.Binary) and part.operator in _BOOLEAN:
            condition = _without_literal(part)
        if isinstance(condition, ast.Binary) and condition.operator is Two.ADD:
            construct = "a sum as a condition"
            message = f"{construct} depends on Neo4j's plan"
            raise UnsupportedQueryError(message, query.text, condition.span, construct=construct)


def _without_literal(condition: ast.Binary) -> ast.Expression:
    """The other operand of ``x AND true`` and the like."""
    if isinstance(condition.left, ast.Literal):
        return condition.right
    return condition.left if isinstance(condition.right, ast.Literal) else condition
