"""Groups whose keys have names, for subqueries in the columns of an aggregating projection."""

from __future__ import annotations

from dataclasses import replace

from gpugda.plan.logical import Aggregate, Logical, Project
from gpugda.plan.subquery_body import outermost_subqueries
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, KeyReference, OutputColumn
from gpugda.query.shapes import rewrite, variable_names

__all__ = ["with_named_groups"]


def with_named_groups(
    rows: Aggregate, columns: list[OutputColumn]
) -> tuple[Logical, list[OutputColumn]]:
    """Names the keys that subqueries in the columns read, as a WITH before the projection would.

    Keys and aggregates are otherwise known by their positions only, and a subquery finds the
    variables of its outer query by their names.

    Args:
        rows: The groups.
        columns: Columns over references to keys and aggregates.
    """
    read = {
        name
        for column in columns
        for node in outermost_subqueries(column.expression)
        for name in variable_names(node)
    }
    names = [
        key.name if isinstance(key, ast.Variable) else f"\0key{number}"
        for number, key in enumerate(rows.keys)
    ]
    if read.isdisjoint(names):
        return rows, columns
    aggregates = [f"\0aggregate{number}" for number in range(len(rows.aggregates))]

    def named(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, KeyReference):
            return ast.Variable(part.span, names[part.position])
        if isinstance(part, AggregateReference):
            return ast.Variable(part.span, aggregates[part.position])
        return None

    groups = [
        OutputColumn(name, KeyReference(key.span, number))
        for number, (name, key) in enumerate(zip(names, rows.keys, strict=True))
    ]
    groups += [
        OutputColumn(name, AggregateReference(call.span, number))
        for number, (name, call) in enumerate(zip(aggregates, rows.aggregates, strict=True))
    ]
    return Project(rows, tuple(groups)), [
        replace(column, expression=rewrite(column.expression, named)) for column in columns
    ]
