"""LIMIT of a later clause where Neo4j sorts: ``LIMIT 0`` raises the errors of sort keys there.

``WITH x ORDER BY 1 / x RETURN x LIMIT 0`` sorts no fewer rows than with both in one clause.
"""

from __future__ import annotations

from dataclasses import replace

from gpugda.query import ast
from gpugda.query.constants import never_holds
from gpugda.query.searches import changes_nothing
from gpugda.reference.aggregates import aggregates_in
from gpugda.reference.trees import parts_of, shape

__all__ = ["limits_by_order", "without_rows"]


def limits_by_order(clauses: list[ast.Clause]) -> list[ast.Clause]:
    """The clauses, with each LIMIT moved to the ORDER BY whose rows it limits.

    Only clauses that list variables may be between them, and what never holds is ``LIMIT 0``.
    """
    found = list(clauses)
    for place, clause in enumerate(found):
        if isinstance(clause, ast.With) and _only_sorts(clause):
            _move_limit(found, place)
    return found


def without_rows(clause: ast.With) -> ast.With:
    """``LIMIT 0`` in place of a condition that never holds: only ORDER BY reads rows then."""
    projection = clause.projection
    order_by = () if projection.skip or projection.limit else projection.order_by
    projection = replace(projection, order_by=order_by, skip=None, limit=_none(clause))
    return replace(clause, projection=projection, where=None)


def _only_sorts(clause: ast.With) -> bool:
    projection = clause.projection
    bounded = projection.skip is not None or projection.limit is not None
    if not projection.order_by or bounded or clause.where is not None:
        return False
    return projection.distinct or not any(map(_is_computed_after, _others(projection)))


def _others(projection: ast.Projection) -> list[ast.ReturnItem]:
    """The items that ORDER BY does not read; without keys of groups, which are computed before."""
    parts = [part for key in projection.order_by for part in parts_of(key.expression)]
    read = {shape(part) for part in parts}
    names = {part.name for part in parts if isinstance(part, ast.Variable)}
    items = [each for each in projection.items if each.name not in names]
    items = [each for each in items if shape(each.expression) not in read]
    if any(aggregates_in(each.expression) for each in projection.items):
        items = [each for each in items if aggregates_in(each.expression)]
    return items


def _is_computed_after(item: ast.ReturnItem) -> bool:
    """True for a column that Neo4j computes from the sorted rows."""
    plain = isinstance(item.expression, ast.Variable)
    return not plain and item.expression not in aggregates_in(item.expression)


def _move_limit(clauses: list[ast.Clause], place: int) -> None:
    """Moves the bounds of the clause that limits the rows sorted at a place, if there is one."""
    sorting = clauses[place]
    assert isinstance(sorting, ast.With)
    limiting = next(
        number
        for number, each in enumerate(clauses)
        if number > place and not (isinstance(each, ast.With) and changes_nothing(each))
    )
    last = clauses[limiting]
    if isinstance(last, ast.With) and changes_nothing(replace(last, where=None)):
        last = without_rows(last) if last.where and never_holds(last.where) else last
    skip, limit = None, None
    if isinstance(last, ast.Match):
        if not last.optional and last.where is not None and never_holds(last.where):
            limit, last = _none(last), replace(last, where=None)
    elif isinstance(last, ast.With | ast.Return) and _only_limits(last):
        skip, limit = last.projection.skip, last.projection.limit
        last = replace(last, projection=replace(last.projection, skip=None, limit=None))
    if limit is not None:
        projection = replace(sorting.projection, skip=skip, limit=limit)
        clauses[place], clauses[limiting] = replace(sorting, projection=projection), last


def _only_limits(clause: ast.With | ast.Return) -> bool:
    """True if each row that a clause computes stands for one row before it."""
    projection = clause.projection
    return not (
        projection.order_by
        or projection.distinct
        or projection.group_by is not None
        or any(aggregates_in(item.expression) for item in projection.items)
    )


def _none(clause: ast.Clause) -> ast.Expression:
    return ast.Literal(clause.span, 0)
