"""RETURN: items, grouping, DISTINCT, ORDER BY, SKIP and LIMIT, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.errors import CypherTypeError
from gpugda.query import ast
from gpugda.reference.values import Scope, parts_of, shape

if TYPE_CHECKING:
    from gpugda.reference.match import Row
    from gpugda.reference.values import Evaluator

__all__ = ["project"]

Projected = Iterator[tuple[tuple[Any, ...], Scope]]
"""Per row its values, and what ORDER BY may read."""


def project(
    projection: ast.Projection,
    evaluator: Evaluator,
    variables: frozenset[str],
    rows: Iterable[Row],
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Column names and rows of a RETURN."""
    items = _items(projection, variables)
    skip = _row_count(projection.skip, evaluator) or 0
    limit = _row_count(projection.limit, evaluator)
    if any(_aggregates(item.expression) for item in items):
        projected = _grouped(items, evaluator, rows)
    else:
        projected = _plain(items, evaluator, rows, keeps_variables=not projection.distinct)
    if projection.distinct:
        projected = _distinct(projected)
    if projection.order_by:
        projected = _ordered(projection.order_by, evaluator, projected)
    stop = None if limit is None else skip + limit
    return tuple(item.name for item in items), [row for row, _ in islice(projected, skip, stop)]


def _items(projection: ast.Projection, variables: frozenset[str]) -> list[ast.ReturnItem]:
    """``*`` stands for all variables by name but those named again, and before what is written."""
    written = {item.name for item in projection.items}
    names = sorted(variables - written) if projection.star else []
    span = projection.span
    stars = [ast.ReturnItem(span, ast.Variable(span, name), None, name) for name in names]
    return [*stars, *projection.items]


def _plain(
    items: list[ast.ReturnItem], evaluator: Evaluator, rows: Iterable[Row], *, keeps_variables: bool
) -> Projected:
    for row in rows:
        found = tuple(evaluator.value(item.expression, row) for item in items)
        yield found, _scope(items, found, row if keeps_variables else {})


def _scope(items: list[ast.ReturnItem], found: tuple[Any, ...], variables: Row) -> Scope:
    """What ORDER BY reads: items' expressions, items' names, and variables that no item hides."""
    expressions = {shape(item.expression): value for item, value in zip(items, found, strict=True)}
    names = {item.name: value for item, value in zip(items, found, strict=True)}
    return Scope({**expressions, **variables, **names})


def _distinct(projected: Projected) -> Projected:
    seen = set()
    for row, scope in projected:
        key = values.group_key(row)
        if key not in seen:
            seen.add(key)
            yield row, scope


def _ordered(
    order_by: Iterable[ast.SortItem], evaluator: Evaluator, projected: Projected
) -> Projected:
    rows = list(projected)
    for item in reversed(tuple(order_by)):  # sorting is stable, so the first item sorts last
        found = (evaluator.value(item.expression, scope) for _, scope in rows)
        keys = [values.order_key(evaluator.graph.in_order(value)) for value in found]
        order = sorted(range(len(rows)), key=keys.__getitem__, reverse=item.descending)
        rows = [rows[place] for place in order]
    return iter(rows)


def _row_count(expression: ast.Expression | None, evaluator: Evaluator) -> int | None:
    if expression is None:
        return None
    count = evaluator.value(expression, {})
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        message = f"SKIP and LIMIT need an integer that is not negative, not {count!r}"
        raise CypherTypeError(message, evaluator.text, expression.span)
    return count


# ------------------------------------------------------------------ grouping
class _Counter:
    """One count() of one group."""

    def __init__(self, node: ast.Node) -> None:
        self._argument = node.arguments[0] if isinstance(node, ast.FunctionCall) else None
        self._seen: set[Any] | None = set() if getattr(node, "distinct", False) else None
        self.count = 0

    def add(self, row: Row, evaluator: Evaluator) -> None:
        if self._argument is not None:
            value = evaluator.value(self._argument, row)
            key = values.group_key(value)
            if value is None or (self._seen is not None and key in self._seen):
                return
            if self._seen is not None:
                self._seen.add(key)
        self.count += 1


def _grouped(items: list[ast.ReturnItem], evaluator: Evaluator, rows: Iterable[Row]) -> Projected:
    """One row per distinct value of the items without count(); one row if all have it."""
    keys = [item.expression for item in items if not _aggregates(item.expression)]
    counts = [part for item in items for part in _aggregates(item.expression)]
    groups: dict[Any, tuple[list[Any], list[_Counter]]] = {}
    if not keys:
        groups[values.group_key([])] = ([], [_Counter(node) for node in counts])
    for row in rows:
        found = [evaluator.value(key, row) for key in keys]
        new = (found, [_Counter(node) for node in counts])
        for counter in groups.setdefault(values.group_key(found), new)[1]:
            counter.add(row, evaluator)
    for found, counters in groups.values():
        known = {shape(key): value for key, value in zip(keys, found, strict=True)}
        known |= {shape(n): counter.count for n, counter in zip(counts, counters, strict=True)}
        result = tuple(evaluator.value(item.expression, Scope(known)) for item in items)
        yield result, _scope(items, result, known)


def _aggregates(expression: ast.Expression) -> list[ast.Node]:
    return [
        part
        for part in parts_of(expression)
        if isinstance(part, ast.CountStar)
        or (isinstance(part, ast.FunctionCall) and part.name.lower() == "count")
    ]
