"""ORDER BY of a later clause where Neo4j sorts: as soon as its keys are there.

``WITH x, 1 / x AS c RETURN x, c ORDER BY x LIMIT 1`` computes ``c`` for one row.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from gpugda.query import ast
from gpugda.query.check.expressions import SUBQUERIES, is_aggregate
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["order_early"]


def order_early(clauses: Sequence[ast.Clause]) -> list[ast.Clause]:
    """The clauses, with each ORDER BY below a LIMIT moved to the first WITH that has its keys.

    Only clauses that compute a row from each row may be between them. One of these has to compute
    a column, as else nothing depends on it.

    Args:
        clauses: The clauses of a query.
    """
    found = list(clauses)
    for place in range(len(found) - 1, 0, -1):
        sorting, before = found[place], found[place - 1]
        if not isinstance(sorting, ast.With | ast.Return) or not isinstance(before, ast.With):
            continue
        body, earlier = sorting.projection, before.projection
        order = _order_before(body, earlier)
        if order and _sorts_rows_of(before) and _limits(found[place:]) and _computes(found[:place]):
            found[place] = replace(sorting, projection=replace(body, order_by=()))
            found[place - 1] = replace(before, projection=replace(earlier, order_by=order))
    return found


def _order_before(body: ast.Projection, earlier: ast.Projection) -> tuple[ast.SortItem, ...]:
    """The sort keys over the columns of the clause before; empty if these do not determine them."""
    if body.distinct or body.group_by is not None or any(map(_aggregates, body.items)):
        return ()
    own = {item.name: item.expression for item in body.items}
    columns = {item.name: item.expression for item in earlier.items}
    found = []
    for item in body.order_by:
        key = _of_input(item.expression, own)
        name = _read_by(key)
        if key is None or not (name in columns or earlier.star):
            return ()
        if isinstance(key, ast.Property) and not isinstance(
            columns.get(name, key.subject), ast.Variable
        ):
            return ()  # it might be taken for the property that the column is computed from
        found.append(replace(item, expression=key))
    return tuple(found)


def _of_input(key: ast.Expression, own: dict[str, ast.Expression]) -> ast.Expression | None:
    """A sort key over the input of its clause; None if it is neither a variable nor a property."""
    name = _read_by(key)
    if not name or name not in own:
        return key if name else None
    column = own[name]
    if isinstance(key, ast.Property) and isinstance(column, ast.Variable):
        return replace(key, subject=column)
    return column if isinstance(key, ast.Variable) and _read_by(column) else None


def _read_by(key: ast.Expression | None) -> str:
    """The variable of a variable or property; empty for other expressions."""
    subject = key.subject if isinstance(key, ast.Property) else key
    return subject.name if isinstance(subject, ast.Variable) else ""


def _sorts_rows_of(clause: ast.With) -> bool:
    body = clause.projection
    bounded = body.skip is not None or body.limit is not None
    return not (bounded or body.order_by or body.distinct or clause.where is not None)


def _limits(clauses: Sequence[ast.Clause]) -> bool:
    """True if the clause that sorts, or the next one, has a LIMIT."""
    bodies = (e.projection for e in clauses[:2] if isinstance(e, ast.With | ast.Return))
    return any(body.limit is not None for body in bodies)


def _computes(clauses: Sequence[ast.Clause]) -> bool:
    """True if one of the WITH clauses that come last computes a column."""
    run = takewhile(lambda each: isinstance(each, ast.With), reversed(clauses))
    return any(
        not _is_found(item.expression)
        for clause in run
        if isinstance(clause, ast.With)
        for item in clause.projection.items
    )


def _is_found(expression: ast.Expression) -> bool:
    """True for what needs no computation after its clause has its rows: variables, aggregates."""
    return isinstance(expression, ast.Variable) or is_aggregate(expression)


def _aggregates(item: ast.ReturnItem) -> bool:
    return any(map(is_aggregate, walk(item.expression, without=SUBQUERIES)))
