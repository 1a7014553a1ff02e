"""Builds syntax trees and bound queries without a parser."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship, LabelOp
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, ComparisonOperator, UnaryOperator
from gpugda.query.query_graph import (
    OutputColumn,
    Query,
    QueryGraph,
    QueryNode,
    QueryRelationship,
    SortKey,
)
from gpugda.types import Span

SPAN = Span(0, 4)
TEXT = "text of the query"


def lit(value: Any) -> ast.Expression:
    """A literal. A list of expressions makes a list literal."""
    if isinstance(value, ast.Expression):
        return value
    if isinstance(value, list):
        return ast.ListLiteral(SPAN, tuple(lit(item) for item in value))
    return ast.Literal(SPAN, value)


def var(name: str) -> ast.Variable:
    return ast.Variable(SPAN, name)


def prop(subject: str | ast.Expression, key: str) -> ast.Property:
    return ast.Property(SPAN, var(subject) if isinstance(subject, str) else subject, key)


def param(name: str) -> ast.Parameter:
    return ast.Parameter(SPAN, name)


def binary(left: Any, operator: str, right: Any) -> ast.Binary:
    return ast.Binary(SPAN, BinaryOperator(operator), lit(left), lit(right))


def unary(operator: str, operand: Any) -> ast.Unary:
    return ast.Unary(SPAN, UnaryOperator(operator), lit(operand))


def comparison(*parts: Any) -> ast.Comparison:
    """``comparison(a, "<", b, "<=", c)``."""
    operands = tuple(lit(part) for part in parts[::2])
    return ast.Comparison(SPAN, operands, tuple(map(ComparisonOperator, parts[1::2])))


def call(name: str, *arguments: Any, distinct: bool = False) -> ast.FunctionCall:
    return ast.FunctionCall(SPAN, name, tuple(map(lit, arguments)), distinct)


def label(subject: str, labels: ast.LabelExpression) -> ast.LabelPredicate:
    return ast.LabelPredicate(SPAN, var(subject), labels)


def name(label_name: str) -> ast.LabelName:
    return ast.LabelName(SPAN, label_name)


def query(
    columns: Iterable[tuple[str, ast.Expression]],
    *,
    nodes: Sequence[str] = ("n",),
    relationships: Sequence[str] = (),
    order_by: Iterable[tuple[ast.Expression, bool]] = (),
    **settings: Any,
) -> Query:
    """A query over nodes with these names; all relationships run from the first to the last one."""
    graph = QueryGraph(
        tuple(QueryNode(place, each) for place, each in enumerate(nodes)),
        tuple(
            QueryRelationship(place, each, 0, len(nodes) - 1, True, None, 0)
            for place, each in enumerate(relationships)
        ),
    )
    return Query(
        TEXT,
        graph,
        tuple(OutputColumn(title, expression) for title, expression in columns),
        order_by=tuple(SortKey(expression, descending) for expression, descending in order_by),
        **settings,
    )


def bound(
    asked: Query,
    *,
    predicates: dict[str, Sequence[ast.Expression]] | None = None,
    labels: dict[str, tuple[tuple[LabelOp, int], ...]] | None = None,
    residuals: Sequence[ast.Expression] = (),
    constants: Sequence[ast.Expression] = (),
) -> BoundQuery:
    """The query, bound to a data graph."""
    predicates, labels = predicates or {}, labels or {}
    nodes = tuple(
        BoundNode(
            each.position,
            each.name,
            labels.get(each.name, ()),
            tuple(predicates.get(each.name, ())),
            (),
            1.0,
        )
        for each in asked.graph.nodes
    )
    relationships = tuple(
        BoundRelationship(
            each.position,
            each.name,
            each.source,
            each.target,
            True,
            None,
            tuple(predicates.get(each.name, ())),
            0,
            1.0,
        )
        for each in asked.graph.relationships
    )
    return BoundQuery(asked, nodes, relationships, (), tuple(residuals), tuple(constants))
