"""Constructs by their names, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpugda.errors import (
    CypherArgumentError,
    CypherSyntaxError,
    CypherTypeError,
    UnsupportedQueryError,
)
from gpugda.query import ast
from gpugda.query.ast import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from gpugda.errors import QueryError
    from gpugda.query.ast import Expression

__all__ = [
    "bound_paths",
    "clause_name",
    "column_name",
    "expression_name",
    "paging_error",
]


def clause_name(clause: ast.Clause) -> str:
    """The keywords of a clause: ``OPTIONAL MATCH``, ``CALL subquery``, ``DETACH DELETE``."""
    name = _CLAUSES[type(clause)]
    return name if isinstance(name, str) else name(clause)


def expression_name(expression: ast.Expression) -> str | None:
    """The name of an expression that is not an operator, value or call; None for those."""
    name = _EXPRESSIONS.get(type(expression))
    return name if name is None or isinstance(name, str) else name(expression)


def column_name(expression: ast.Expression, written: str) -> str:
    """Neo4j's name of a column without an alias, mostly the text as written.

    Args:
        expression: The column's expression.
        written: Its text.
    """
    if isinstance(expression, ast.MapProjection):
        expression = expression.subject
    return expression.name if isinstance(expression, ast.Variable) else written


def _first_part(clause: ast.OrderSkipLimit) -> str:
    if clause.order_by:
        return "ORDER BY"
    return "SKIP" if clause.skip is not None else "LIMIT"


def _shortest_path(expression: ast.ShortestPathExpression) -> str:
    selector = expression.pattern.selector
    assert selector is not None, "the parser reads the word before the bracket"
    return f"{selector.kind}()"


_CLAUSES: Final[dict[type[ast.Clause], str | Callable[[Any], str]]] = {
    ast.Braces: "query in braces",
    ast.CallProcedure: "CALL procedure",
    ast.CallSubquery: "CALL subquery",
    ast.Filter: "FILTER",
    ast.Finish: "FINISH",
    ast.Let: "LET",
    ast.LoadCsv: "LOAD CSV",
    ast.Match: lambda clause: "OPTIONAL MATCH" if clause.optional else "MATCH",
    ast.Next: "NEXT",
    ast.OrderSkipLimit: _first_part,
    ast.OtherClause: lambda clause: clause.construct,
    ast.Return: "RETURN",
    ast.Unwind: lambda clause: "FOR" if clause.is_for else "UNWIND",
    ast.Use: "USE",
    ast.When: "WHEN",
    ast.With: "WITH",
}
_EXPRESSIONS: Final[dict[type[ast.Node], str | Callable[[Any], str]]] = {
    ast.AllReduce: "allReduce()",
    ast.Case: "CASE",
    ast.CollectSubquery: "COLLECT subquery",
    ast.CountSubquery: "COUNT subquery",
    ast.ExistsSubquery: "EXISTS subquery",
    ast.ListComprehension: "list comprehension",
    ast.ListPredicate: lambda expression: f"{expression.quantifier}()",
    ast.MapProjection: "map projection",
    ast.NormalizedPredicate: "normalization predicate",
    ast.PatternComprehension: "pattern comprehension",
    ast.PatternExpression: "a pattern expression",
    ast.Reduce: "reduce()",
    ast.ShortestPathExpression: _shortest_path,
    ast.Slice: "list slice",
    ast.Subscript: "list subscript",
    ast.Trim: "function trim()",
    ast.TypePredicate: "type predicate",
}


def bound_paths(clause: ast.Match, known: Container[str], text: str) -> dict[str, str]:
    """Names of such paths, each with the single node that it consists of.

    Neo4j creates them from their elements even if the clause finds nothing.

    Args:
        clause: The OPTIONAL MATCH clause.
        known: The variables bound before it.
        text: The whole query text.

    Raises:
        UnsupportedQueryError: A path has relationships, which then need not match its nodes.
    """
    found = {}
    for pattern in clause.patterns:
        named = pattern.variable
        if (
            named is None
            or named.name in known
            or not all(_is_in(e, known) for e in pattern.elements)
        ):
            continue
        (node, *more) = pattern.elements
        if more or not isinstance(node, ast.NodePattern) or node.variable is None:
            construct = "a path of OPTIONAL MATCH all of whose parts are bound before"
            message = f"{construct} is not supported by this engine: name a new part in it"
            raise UnsupportedQueryError(message, text, pattern.span, construct=construct)
        found[named.name] = node.variable.name
    return found


def _is_in(element: ast.PatternElement, known: Container[str]) -> bool:
    variable = None if isinstance(element, ast.GroupPattern) else element.variable
    return variable is not None and variable.name in known


def paging_error(clause: str, value: Any, text: str, expression: Expression) -> QueryError:
    """The error for a value that is not a non-negative integer; Neo4j's class of error.

    Args:
        clause: ``SKIP`` or ``LIMIT``.
        value: The value of the expression.
        text: The whole query text.
        expression: The expression.
    """
    shown = "null" if value is None else str(value)
    message = (
        f"{clause}: Invalid input. '{shown}' is not a valid value. Must be a non-negative integer."
    )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return CypherArgumentError(message, text, expression.span)
    if value is not None and isinstance(expression, Parameter):
        return CypherSyntaxError(message, text, expression.span)
    return CypherTypeError(message, text, expression.span)
