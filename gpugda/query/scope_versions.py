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
        if isinstance(node, ast.SingleQuery):
            _check_star(node, query.text)
        elif isinstance(node, ast.Subquery):
            _check_empty_star(node, query.text)
        if name is not None:
            message = f"{name} is Cypher 25, and this query is Cypher 5"
            raise CypherSyntaxError(message, query.text, node.span)


def _check_star(query: ast.SingleQuery, text: str) -> None:
    """Rejects ``CALL (n) { … RETURN * }`` that reads n: the star includes it in Neo4j 5.26.

    Raises:
        CypherSyntaxError: There is such a subquery.
    """
    for place, call in enumerate(query.clauses):
        if not isinstance(call, ast.CallSubquery) or call.imports is None:
            continue
        before: tuple[ast.Node, ...] = query.clauses[:place] if call.imports_all else call.imports
        imported = {v.name for each in before for v in walk(each) if isinstance(v, ast.Variable)}
        for part in call.query.parts:
            *clauses, last = part.clauses
            if not isinstance(last, ast.Return) or not last.projection.star:
                continue
            for name in imported & _read_by(clauses):
                message = f"Variable `{name}` already declared in outer scope"
                raise CypherSyntaxError(message, text, last.projection.span, gql_status="42N07")


def _check_empty_star(subquery: ast.Subquery, text: str) -> None:
    """Rejects ``RETURN *`` in EXISTS, COUNT or COLLECT that names no variable, as 5.26 does."""
    for part in subquery.query.parts:
        *clauses, last = part.clauses
        if isinstance(last, ast.Return) and last.projection.star and not _read_by(clauses):
            message = "RETURN * is not allowed when there are no variables in scope"
            raise CypherSyntaxError(message, text, last.projection.span, gql_status="42I37")


def _read_by(clauses: list[ast.Clause]) -> set[str]:
    """Variables that clauses name, from the last WITH that renames or drops some."""
    first = 0
    for place, clause in enumerate(clauses):
        if isinstance(clause, ast.With) and not clause.projection.star:
            first = place
    read = [each for each in clauses[first:] if not isinstance(each, ast.CallSubquery)]
    nodes = [node for clause in read for node in walk(clause)]
    return {node.name for node in nodes if isinstance(node, ast.Variable)}


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
