"""Checks WITH and RETURN: columns, grouping, and the scope of a following ORDER BY and WHERE."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast
from gpugda.query.scope_expressions import (
    SUBQUERIES,
    InnerChecks,
    check_condition,
    check_expression,
    is_aggregate,
)
from gpugda.query.shapes import shape, substitute
from gpugda.query.type_sets import INTEGER
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from gpugda.query.scope import Scope
    from gpugda.query.type_sets import TypeSet

__all__ = ["check_paging", "check_projection", "refuse_aggregates"]

_PATTERNS: Final = (
    ast.PatternComprehension,
    ast.PatternExpression,
    ast.ShortestPathExpression,
    ast.Subquery,
)
_GROUPING: Final = (
    "Aggregation column contains implicit grouping expressions: outside of aggregates only what is"
    " a column of its own, a variable or a property of one, can stand. Project it first with WITH"
)


def check_projection(
    body: ast.Projection, where: ast.Expression | None, scope: Scope, inner: InnerChecks, word: str
) -> dict[str, TypeSet]:
    """Checks a WITH or RETURN and returns its columns.

    Args:
        body: The projection.
        where: The condition after WITH.
        scope: The scope before it.
        inner: The checks for queries and patterns in expressions.
        word: ``WITH`` or ``RETURN``, for messages.

    Raises:
        CypherSyntaxError: A part is invalid.
    """
    columns = {}
    if body.star:
        columns = {n: kind for n, kind in scope.variables.items() if n not in scope.outer}
        if word == "RETURN" and not scope.variables:
            message = "RETURN * is not allowed when there are no variables in scope"
            scope.fail(message, body.span, "42I37")
    for item in body.items:
        _refuse_nested(item.expression, scope)
        columns[item.name] = check_expression(item.expression, scope, inner)
        if not (isinstance(item.expression, ast.Variable) and item.expression.name == item.name):
            scope.check_not_outer(item.name, item.span)
    aggregating = any(_aggregates(item.expression) for item in body.items)
    if body.group_by is None and aggregating:
        _check_grouping(body, scope)
    after = _FollowingScope(body, columns, scope, inner, aggregating=aggregating, word=word)
    for sort in body.order_by:
        after.check_sort(sort.expression)
    check_paging(body, scope, inner)
    if where is not None:
        after.check_where(where)
    return columns


def refuse_aggregates(node: ast.Expression, scope: Scope) -> None:
    """Rejects aggregates in a position where they are not allowed.

    Raises:
        CypherSyntaxError: There is an aggregate.
    """
    for part in walk(node, without=SUBQUERIES):
        if is_aggregate(part):
            name = part.name if isinstance(part, ast.FunctionCall) else "count"
            message = f"Invalid use of aggregating function {name}(...) in this context"
            scope.fail(message, part.span)


def check_paging(
    body: ast.Projection | ast.OrderSkipLimit, scope: Scope, inner: InnerChecks
) -> None:
    """Checks SKIP and LIMIT, whose values must be known before there are rows.

    Raises:
        CypherSyntaxError: One reads a variable, or is certainly not a row count.
    """
    for word, value in (("SKIP", body.skip), ("LIMIT", body.limit)):
        if value is None:
            continue
        refuse_aggregates(value, scope)
        if any(True for _ in _ungrouped(value, set())):
            message = (
                f"It is not allowed to refer to variables in {word}, so that the value for {word}"
                " can be statically calculated."
            )
            scope.fail(message, value.span)
        if any(isinstance(part, _PATTERNS) for part in walk(value)):
            message = (
                f"It is not allowed to use patterns in the expression for {word}, so that the value"
                f" for {word} can be statically calculated."
            )
            scope.fail(message, value.span)
        if isinstance(value, ast.Literal) and not _is_count(value.value):
            written = value.span.of(scope.text)
            message = (
                f"Invalid input. '{written}' is not a valid value. Must be a non-negative integer."
            )
            scope.fail(message, value.span, "42N31")
        scope.expect(check_expression(value, scope, inner), INTEGER, value.span)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# ------------------------------------------------------------------ aggregates
def _aggregates(node: ast.Expression) -> bool:
    return any(is_aggregate(part) for part in walk(node, without=SUBQUERIES))


def _refuse_nested(node: ast.Expression, scope: Scope) -> None:
    for part in walk(node, without=SUBQUERIES):
        if not isinstance(part, ast.FunctionCall) or not is_aggregate(part):
            continue
        for argument in part.arguments:
            if _aggregates(argument):
                message = "Can't use aggregate functions inside of aggregate functions."
                scope.fail(message, argument.span)
            if any(_is_random(inside) for inside in walk(argument)):
                message = (
                    "Can't use non-deterministic (random) functions inside of aggregate functions."
                )
                scope.fail(message, argument.span)


def _is_random(node: ast.Node) -> bool:
    return isinstance(node, ast.FunctionCall) and node.name.lower() in ("rand", "randomuuid")


def _check_grouping(body: ast.Projection, scope: Scope) -> None:
    written = [item.expression for item in body.items if not _aggregates(item.expression)]
    keys = {shape(each) for each in written if _is_simple(each)}
    if body.star:
        keys |= {shape(ast.Variable(body.span, name)) for name in scope.variables}
    for item in body.items:
        if _aggregates(item.expression):
            for variable in _ungrouped(item.expression, keys):
                if variable.name in scope.variables:
                    scope.fail(_GROUPING, variable.span, "42I18")


def _is_simple(node: ast.Expression) -> bool:
    """True for a variable or a property of one, which may be used next to an aggregate."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.subject, ast.Variable) and isinstance(node.index, ast.Literal)
    if isinstance(node, ast.Property):
        return isinstance(node.subject, ast.Variable)
    return isinstance(node, ast.Variable)


def _ungrouped(node: ast.Node, keys: set[Hashable]) -> Iterator[ast.Variable]:
    """Variables outside of aggregates and keys, without those that the expression declares."""
    if is_aggregate(node) or (isinstance(node, ast.Expression) and shape(node) in keys):
        return
    if isinstance(node, ast.Variable):
        yield node
        return
    own = _declared(node)
    for child in _children(node):
        yield from (each for each in _ungrouped(child, keys) if each.name not in own)


def _declared(node: ast.Node) -> frozenset[str]:
    if isinstance(node, ast.Reduce | ast.AllReduce):
        return frozenset((node.accumulator.name, node.variable.name))
    if isinstance(node, ast.ListComprehension | ast.ListPredicate):
        return frozenset((node.variable.name,))
    return frozenset()


def _children(node: ast.Node) -> Iterator[ast.Node]:
    for field in fields(node):
        yield from _nodes(getattr(node, field.name))


def _nodes(value: Any) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


# ------------------------------------------------------------------ after the columns
class _FollowingScope:
    """The scope of ORDER BY and WHERE after a projection.

    Columns, and earlier variables; after DISTINCT or an aggregation only columns and expressions
    equal to one of them.
    """

    def __init__(
        self,
        body: ast.Projection,
        columns: dict[str, TypeSet],
        scope: Scope,
        inner: InnerChecks,
        *,
        aggregating: bool,
        word: str,
    ) -> None:
        self._inner = inner
        self._word = word
        self._aggregating = aggregating
        self._only_columns = aggregating or body.distinct
        self._before = scope
        self._scope = scope.with_locals(columns)
        if self._only_columns:
            self._scope = scope.after(columns, scope.variables)
        self._shapes = {shape(item.expression) for item in body.items}
        self._names = {item.name for item in body.items}

    def check_sort(self, node: ast.Expression) -> None:
        """Checks a sort key."""
        found = self._without_columns(node)
        for part in walk(found, without=SUBQUERIES):
            if is_aggregate(part):
                self._refuse_aggregate(part)
        check_expression(found, self._scope, self._inner)

    def check_where(self, node: ast.Expression) -> None:
        """Checks the condition of WITH."""
        check_condition(self._without_columns(node), self._scope, self._inner)

    def _without_columns(self, node: ast.Expression) -> ast.Expression:
        """The expression, with parts equal to a column replaced by a value of any type."""
        if not self._only_columns:
            return node
        return substitute(node, self._column)

    def _column(self, node: ast.Expression) -> ast.Expression | None:
        if isinstance(node, ast.Variable) and node.name in self._names:
            return None
        if shape(node) in self._shapes:
            return ast.CaseOperand(node.span)
        return None

    def _refuse_aggregate(self, node: ast.Node) -> None:
        if self._aggregating:
            message = (
                "Illegal aggregation expression(s) in order by: an aggregate there must be a"
                " column as well."
            )
        else:
            message = (
                "Cannot use aggregation in ORDER BY if there are no aggregate expressions in the"
                f" preceding {self._word}"
            )
        self._before.fail(message, node.span)
