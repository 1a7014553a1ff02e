"""Subqueries and patterns in expressions, rewritten as the queries that answer them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.shapes import QUERIES
from gpugda.query.walk import children

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["VALUE", "outermost_subqueries", "subquery_body"]

VALUE: Final = "\0value"
"""Name of the single column of a rewritten query."""


def outermost_subqueries(node: ast.Node) -> Iterator[ast.Expression]:
    """The outermost subqueries below a node."""
    stack: list[ast.Node] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, QUERIES):
            yield part
        else:
            stack.extend(children(part))


def subquery_body(node: ast.Expression) -> ast.QueryBody:
    """The query that answers a subquery or pattern expression."""
    span = node.span
    if isinstance(node, ast.Subquery):
        return node.query
    if isinstance(node, ast.PatternComprehension):
        return _matching(node.pattern, node.where, node.projection)
    assert isinstance(node, ast.PatternExpression | ast.ShortestPathExpression)
    pattern = node.pattern
    if isinstance(node, ast.PatternExpression):
        return _matching(pattern, None, ast.Literal(span, True))
    name = ast.Variable(span, "\0path")
    # The ends are bound, and Neo4j does not test their labels and properties here.
    elements = tuple(_bare(each) for each in pattern.elements)
    named = ast.Pattern(pattern.span, name, elements, pattern.selector)
    return _matching(named, None, name)


def _bare(element: ast.PatternElement) -> ast.PatternElement:
    if isinstance(element, ast.NodePattern):
        return ast.NodePattern(element.span, element.variable, None, None, None)
    return element


def _matching(
    pattern: ast.Pattern, where: ast.Expression | None, value: ast.Expression
) -> ast.QueryBody:
    span = pattern.span
    match = ast.Match(span, optional=False, patterns=(pattern,), where=where)
    item = ast.ReturnItem(span, value, VALUE, VALUE)
    body = ast.Projection(
        span, distinct=False, star=False, items=(item,), order_by=(), skip=None, limit=None
    )
    return ast.QueryBody(span, (ast.SingleQuery(span, (match, ast.Return(span, body))),), (), False)
