"""User-facing names of Cypher constructs, for messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["clause_name", "column_name", "expression_name"]


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
