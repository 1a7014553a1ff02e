"""Conditions on every element of a path, which its expansion tests while the path grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.logical import ElementTest
from gpugda.query import ast
from gpugda.query.shapes import variable_names

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["element_test"]


def element_test(
    condition: ast.Expression,
    relationships: str,
    path: str,
    is_slow: Callable[[ast.Expression], bool],
) -> ElementTest | None:
    """The element test that a condition means; None if it has another form.

    Args:
        condition: A conjunct of WHERE.
        relationships: Name of the list of the path's relationships.
        path: Name of the path; empty if it has none.
        is_slow: True for an expression that must be matched row by row.
    """
    if not isinstance(condition, ast.ListPredicate):
        return None
    if condition.quantifier not in (ast.ListQuantifier.ALL, ast.ListQuantifier.NONE):
        return None
    of_nodes = _of_nodes(condition.elements, relationships, path)
    inner = condition.variable.name
    if of_nodes is None or not variable_names(condition.where) <= {inner}:
        return None
    if is_slow(condition.where):
        return None
    wanted = condition.quantifier is ast.ListQuantifier.ALL
    return ElementTest(inner, condition.where, of_nodes, wanted, condition)


def _of_nodes(elements: ast.Expression, relationships: str, path: str) -> bool | None:
    """True for the path's nodes, False for its relationships, None for any other list."""
    if isinstance(elements, ast.Variable):
        return False if elements.name == relationships else None
    if not isinstance(elements, ast.FunctionCall) or len(elements.arguments) != 1:
        return None
    given = elements.arguments[0]
    if not path or not isinstance(given, ast.Variable) or given.name != path:
        return None
    return {"nodes": True, "relationships": False, "rels": False}.get(elements.name.lower())
