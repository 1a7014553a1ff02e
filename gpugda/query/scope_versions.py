"""Rejects constructs of Cypher 25 in Cypher 5."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.constructs import clause_name
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["check_version"]


def check_version(query: ast.Query, version: int) -> None:
    """Checks that a query only uses constructs of its Cypher version.

    Raises:
        CypherSyntaxError: The version is 5, and the query has a construct of Cypher 25.
    """
    if version >= 25:
        return
    for node in walk(query):
        newer = _NEWER.get(type(node))
        name = newer(node) if newer is not None else None
        if name is not None:
            message = f"{name} is Cypher 25, and this query is Cypher 5"
            raise CypherSyntaxError(message, query.text, node.span)


def _unwind(node: ast.Unwind) -> str | None:
    return "FOR" if node.is_for else None


def _match(node: ast.Match) -> str | None:
    return node.mode


def _selector(node: ast.Selector) -> str | None:
    return "a parameter in a path selector" if isinstance(node.count, ast.Parameter) else None


def _case(node: ast.Case) -> str | None:
    for alternative in node.alternatives if node.operand is not None else ():
        for condition in alternative.conditions:
            if isinstance(condition, ast.LabelPredicate):
                return "a label after WHEN" if _is_operand(condition.subject) else None
            if isinstance(condition, ast.Binary) and condition.operator in _NEW_AFTER_WHEN:
                return f"WHEN {condition.operator}" if _is_operand(condition.left) else None
    return None


def _is_operand(node: ast.Expression) -> bool:
    return isinstance(node, ast.CaseOperand)


def _call(node: ast.FunctionCall) -> str | None:
    name = node.name.lower()
    return f"function {node.name}()" if name in _FUNCTIONS else None


_NEW_AFTER_WHEN: Final = (ast.BinaryOperator.IN, ast.BinaryOperator.CONTAINS)
_FUNCTIONS: Final = ("vector", "vector_distance", "vector_norm", "vector_dimension_count")
_NEWER: Final[Mapping[type, Callable[[Any], str | None]]] = {
    **dict.fromkeys((ast.Let, ast.Filter, ast.When, ast.Next, ast.Braces), clause_name),
    ast.Unwind: _unwind,
    ast.Match: _match,
    ast.Selector: _selector,
    ast.Case: _case,
    ast.FunctionCall: _call,
    ast.AllReduce: lambda _: "allReduce()",
    ast.VectorType: lambda _: "the type VECTOR",
    ast.GroupBy: lambda _: "GROUP BY",
}
