"""RETURN and WITH: items, grouping, DISTINCT, ORDER BY, SKIP and LIMIT, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from gpugda import values
from gpugda.errors import CypherArgumentError, CypherSyntaxError, CypherTypeError, QueryError
from gpugda.query import ast
from gpugda.reference.aggregates import Aggregation, aggregates_in
from gpugda.reference.trees import Row, Scope, parts_of

if TYPE_CHECKING:
    from gpugda.reference.evaluator import Evaluator

__all__ = ["Projected", "ordered", "project"]

_T = TypeVar("_T")

Projected = Iterator[tuple[Row, Mapping[Any, Any]]]
"""Per row: its columns, and the variables that ORDER BY may read."""
_SCOPES = (
    ast.ListComprehension,
    ast.ListPredicate,
    ast.Reduce,
    ast.AllReduce,
    ast.Subquery,
    ast.PatternComprehension,
)
"""Expressions with variables of their own."""
_Scopes: TypeAlias = tuple[Row, Mapping[Any, Any]]
"""Per row: what its columns read, and what ORDER BY reads beside them."""


def project(
    projection: ast.Projection,
    evaluator: Evaluator,
    variables: Iterable[str],
    rows: Iterable[Row],
    outer: Row,
    *,
    by_outer: bool,
) -> tuple[tuple[str, ...], Projected]:
    """Column names, and rows by column with the variables that a following WHERE may read.

    Args:
        projection: The body of WITH or RETURN.
        evaluator: Evaluates expressions.
        variables: The variables that ``*`` stands for.
        rows: The input rows.
        outer: Variables that stay in scope after every projection.
        by_outer: True if these are keys of the groups, so that there is no group without a row.
    """
    items = _items(projection, variables)
    names = tuple(item.name for item in items)
    scopes: Iterable[_Scopes]
    if projection.group_by is not None or any(aggregates_in(item.expression) for item in items):
        scopes = _grouped(projection, items, evaluator, rows, outer, by_outer=by_outer)
    else:
        scopes = ((row, outer if projection.distinct else row) for row in rows)
    if not projection.distinct:
        return names, _late(projection, items, evaluator, scopes)
    return names, ordered(projection, evaluator, _distinct(_computed(items, evaluator, scopes)))


def ordered(
    projection: ast.Projection | ast.OrderSkipLimit,
    evaluator: Evaluator,
    projected: Iterator[tuple[_T, Mapping[Any, Any]]],
) -> Iterator[tuple[_T, Mapping[Any, Any]]]:
    """The sorted rows, with SKIP and LIMIT applied."""
    if projection.order_by:
        # Read all rows even if LIMIT is 0: an error in one of them must be raised.
        projected = iter(list(_sorted(projection.order_by, evaluator, projected)))
    yield from _window(projection, evaluator, projected)


def _window(
    projection: ast.Projection | ast.OrderSkipLimit, evaluator: Evaluator, rows: Iterable[_T]
) -> Iterator[_T]:
    """The rows that SKIP and LIMIT keep."""
    first = _row_count("SKIP", projection.skip, evaluator) or 0
    count = _row_count("LIMIT", projection.limit, evaluator)
    yield from islice(rows, first, None if count is None else first + count)


def _sorted(
    order_by: tuple[ast.SortItem, ...],
    evaluator: Evaluator,
    projected: Iterator[tuple[_T, Mapping[Any, Any]]],
) -> Iterator[tuple[_T, Mapping[Any, Any]]]:
    rows = list(projected)
    for item in reversed(order_by):  # sorting is stable, so the first item sorts last
        found = (evaluator.value(item.expression, scope) for _, scope in rows)
        keys = [values.order_key(evaluator.graph.in_order(value)) for value in found]
        order = sorted(range(len(rows)), key=keys.__getitem__, reverse=item.descending)
        rows = [rows[place] for place in order]
    yield from rows


def _items(projection: ast.Projection, variables: Iterable[str]) -> list[ast.ReturnItem]:
    """The items, where ``*`` comes first: all variables by name without those listed again."""
    written = {item.name for item in projection.items}
    names = sorted(set(variables) - written) if projection.star else []
    span = projection.span
    stars = [ast.ReturnItem(span, ast.Variable(span, name), None, name) for name in names]
    return [*stars, *projection.items]


def _computed(
    items: list[ast.ReturnItem], evaluator: Evaluator, scopes: Iterable[_Scopes]
) -> Projected:
    for scope, before in scopes:
        found = {item.name: evaluator.value(item.expression, scope) for item in items}
        yield found, _scope(items, evaluator, found, before)


def _late(
    projection: ast.Projection,
    items: list[ast.ReturnItem],
    evaluator: Evaluator,
    scopes: Iterable[_Scopes],
) -> Projected:
    """Computes what ORDER BY does not read for the rows that SKIP and LIMIT keep."""
    parts = [part for key in projection.order_by for part in parts_of(key.expression)]
    read = {evaluator.shape(part) for part in parts if isinstance(part, ast.Expression)}
    names = {part.name for part in parts if isinstance(part, ast.Variable)}
    early = [e for e in items if e.name in names or evaluator.shape(e.expression) in read]
    of_keys = [part for item in items if item not in early for part in _of_keys(item.expression)]

    def keyed() -> Iterator[tuple[tuple[_Scopes, Row], Mapping[Any, Any]]]:
        for scope, before in scopes:
            found = {item.name: evaluator.value(item.expression, scope) for item in early}
            for part in of_keys:  # for its errors
                evaluator.value(part, scope)
            yield ((scope, before), found), _scope(early, evaluator, found, before)

    for ((scope, before), found), _ in ordered(projection, evaluator, keyed()):
        late = [item for item in items if item.name not in found]
        values = {item.name: evaluator.value(item.expression, scope) for item in late} | found
        whole = {item.name: values[item.name] for item in items}
        yield whole, _scope(items, evaluator, whole, before)


def _of_keys(expression: ast.Expression) -> list[ast.Expression]:
    """The largest operations on grouping keys in a column with aggregates: Neo4j groups by them.

    Not those within a list comprehension or the like that reads an aggregate.
    """
    aggregates = list(aggregates_in(expression))
    scopes = [e for e in parts_of(expression) if isinstance(e, _SCOPES) and aggregates_in(e)]
    within = {id(part) for each in (*aggregates, *scopes) for part in parts_of(each)}
    found = []
    for part in parts_of(expression) if aggregates else ():
        if not isinstance(part, ast.Expression) or id(part) in within or aggregates_in(part):
            continue
        within.update(map(id, parts_of(part)))
        if any(isinstance(each, ast.Variable) for each in parts_of(part)):
            found.append(part)
    return found


def _scope(
    items: list[ast.ReturnItem], evaluator: Evaluator, found: Row, before: Mapping[Any, Any]
) -> Scope:
    """The scope of ORDER BY: item expressions, item names, and variables that no item shadows."""
    expressions = {evaluator.shape(item.expression): found[item.name] for item in items}
    return Scope({**expressions, **before, **found})


def _grouped(
    projection: ast.Projection,
    items: list[ast.ReturnItem],
    evaluator: Evaluator,
    rows: Iterable[Row],
    outer: Row,
    *,
    by_outer: bool,
) -> Iterator[_Scopes]:
    """The scopes of one row per distinct key; of a single row if there are no keys."""
    keys = [item.expression for item in items if not aggregates_in(item.expression)]
    if projection.group_by is not None:
        keys += projection.group_by.keys
    calls = [part for item in items for part in aggregates_in(item.expression)]
    groups: dict[Any, tuple[list[Any], list[Aggregation]]] = {}
    if not keys and not by_outer and not any(_reads(item, outer) for item in items):
        groups[values.group_key([])] = ([], [Aggregation(node, evaluator) for node in calls])
    for row in rows:
        found = [evaluator.value(key, row) for key in keys]
        place = values.group_key(found)
        if place not in groups:
            groups[place] = (found, [Aggregation(node, evaluator) for node in calls])
        for aggregation in groups[place][1]:
            aggregation.add(row)
    for found, aggregations in groups.values():
        known = Scope(outer)
        names = {}
        for key, value in zip(keys, found, strict=True):
            known[evaluator.shape(key)] = value
            if isinstance(key, ast.Variable):
                names[key.name] = value
        for node, aggregation in zip(calls, aggregations, strict=True):
            known[evaluator.shape(node)] = aggregation.result()
        yield Scope({**known, **names}), known


def _reads(item: ast.ReturnItem, names: Row) -> bool:
    """True if a column reads one of some variables outside its aggregates."""
    calls = aggregates_in(item.expression)
    within = {id(part) for call in calls for part in parts_of(call)}
    parts = (part for part in parts_of(item.expression) if id(part) not in within)
    return any(isinstance(part, ast.Variable) and part.name in names for part in parts)


def _distinct(projected: Projected) -> Projected:
    seen = set()
    for row, scope in projected:
        key = values.group_key(list(row.values()))
        if key not in seen:
            seen.add(key)
            yield row, scope


def _row_count(clause: str, expression: ast.Expression | None, evaluator: Evaluator) -> int | None:
    if expression is None:
        return None
    count = evaluator.value(expression, {})
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        message = (
            f"{clause}: Invalid input. '{'null' if count is None else count}' is not a valid value."
            " Must be a non-negative integer."
        )
        raise _kind_of(count, expression)(message, evaluator.text, expression.span)
    return count


def _kind_of(count: Any, expression: ast.Expression) -> type[QueryError]:
    """The error class for an invalid row count: Neo4j distinguishes numbers and parameters."""
    if isinstance(count, int | float) and not isinstance(count, bool):
        return CypherArgumentError
    is_parameter = count is not None and isinstance(expression, ast.Parameter)
    return CypherSyntaxError if is_parameter else CypherTypeError
