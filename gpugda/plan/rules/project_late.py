"""Computes columns that may be errors after ORDER BY, SKIP and LIMIT, unless a sort key reads them.

Neo4j computes all columns there that no key reads: ``UNWIND [0, 1] AS x RETURN 1 / x AS c ORDER BY
x SKIP 1`` is a row, and no error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan import logical
from gpugda.plan.rules.keep_errors import may_fail
from gpugda.query import ast
from gpugda.query.query_graph import (
    AggregateReference,
    ColumnReference,
    KeyReference,
    OutputColumn,
)
from gpugda.query.shapes import QUERIES, all_names, rewrite, substitute
from gpugda.query.walk import children, walk
from gpugda.types import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda.plan.facts import Facts
    from gpugda.query.query_graph import SortKey

__all__ = ["project_late"]

_CARRIED = "\0late"
"""Names of columns that late ones read begin so: these are computed before the sort."""
_SCOPES = (ast.ListComprehension, ast.ListPredicate, ast.Reduce, ast.AllReduce)
"""Expressions with variables of their own."""


def project_late(tree: logical.Logical, facts: Facts) -> logical.Logical:
    """The tree with such columns in a projection above the rows that the bounds keep."""
    match tree:
        case logical.Slice(input=logical.Sort(input=logical.Project() as project, keys=keys)):
            if late := _late_columns(keys, project):
                columns, ordered = _split(keys, project, late)
                tree = logical.Project(replace(tree, input=ordered), columns)
        case logical.Slice(input=logical.Project() as project):
            tree = replace(tree, input=_late_below(project))
    return logical.with_children(tree, lambda each: project_late(each, facts))


def _late_below(tree: logical.Logical) -> logical.Logical:
    """The input of a LIMIT, which lowering moves below consecutive projections."""
    match tree:
        case logical.Sort(input=logical.Project() as project, keys=keys):
            if late := _late_columns(keys, project):
                columns, ordered = _split(keys, project, late)
                return logical.Project(ordered, columns)
        case logical.Project():
            return replace(tree, input=_late_below(tree.input))
    return tree


def _late_columns(keys: tuple[SortKey, ...], project: logical.Project) -> list[OutputColumn]:
    in_keys = {
        part.position
        for key in keys
        for part in walk(key.expression)
        if isinstance(part, ColumnReference)
    }
    late = [
        column
        for number, column in enumerate(project.columns)
        if number not in in_keys
        and not column.name.startswith(_CARRIED)
        and may_fail(column, project.input)
    ]
    # The names within a subquery cannot be changed, so no early column may have one of them.
    hiding = _hiding(column for column in project.columns if column not in late)
    return [column for column in late if not (_finds_rows(column) and _read(column) & hiding)]


def _finds_rows(column: OutputColumn) -> bool:
    return any(isinstance(part, QUERIES) for part in walk(column.expression))


def _read(column: OutputColumn) -> frozenset[str]:
    return all_names((column.expression,))


def _hiding(columns: Iterable[OutputColumn]) -> frozenset[str]:
    """The names of columns that are not variables of the same name."""
    return frozenset(e.name for e in columns if _variable(e.expression) != e.name)


def _of_keys(node: ast.Node) -> Iterator[ast.Expression]:
    """The largest operations on grouping keys alone: Neo4j groups by them, too.

    Not those within a list comprehension or the like that reads an aggregate.
    """
    below = {type(each) for each in walk(node)}
    if AggregateReference in below:
        for each in () if isinstance(node, _SCOPES) else children(node):
            yield from _of_keys(each)
    elif KeyReference in below and isinstance(node, ast.Expression):
        yield node


def _split(
    keys: tuple[SortKey, ...], project: logical.Project, late: list[OutputColumn]
) -> tuple[tuple[OutputColumn, ...], logical.Sort]:
    """All columns, and the sort of the early ones and of what late ones read."""
    early = [column for column in project.columns if column not in late]
    hiding = _hiding(early)
    known = logical.columns_of(project.input)
    read = all_names(column.expression for column in late).intersection(known)
    below = {name: f"{_CARRIED} {name}" if name in hiding else name for name in read}
    groups = {
        (type(part), part.position): part
        for column in late
        for part in walk(column.expression)
        if isinstance(part, KeyReference | AggregateReference)
    }
    of_keys = [
        part
        for column in late
        for part in _of_keys(column.expression)
        if not isinstance(part, KeyReference)
    ]
    names = {id(part): f"{_CARRIED} part {number}" for number, part in enumerate(of_keys)}

    def renamed(part: ast.Expression) -> ast.Expression | None:
        if id(part) in names:
            return ast.Variable(part.span, names[id(part)])
        if isinstance(part, KeyReference | AggregateReference):
            return ast.Variable(part.span, _group_column(part))
        name = _variable(part)
        return ast.Variable(part.span, below[name]) if name in below else None

    def placed(part: ast.Expression) -> ast.Expression | None:
        if not isinstance(part, ColumnReference):
            return None
        return ColumnReference(part.span, places[part.position])

    places = {number: early.index(c) for number, c in enumerate(project.columns) if c in early}
    columns = tuple(
        replace(c, expression=substitute(c.expression, renamed, ()))
        if c in late
        else _passed(c.name, c.name)
        for c in project.columns
    )
    carried = [
        _passed(below[name], name)
        for name in sorted(read - {column.name for column in early if column.name not in hiding})
    ]
    carried += [OutputColumn(_group_column(part), part) for part in groups.values()]
    carried += [OutputColumn(names[id(part)], part) for part in of_keys]
    moved = tuple(replace(key, expression=rewrite(key.expression, placed)) for key in keys)
    return columns, logical.Sort(replace(project, columns=(*early, *carried)), moved)


def _group_column(part: KeyReference | AggregateReference) -> str:
    kind = "key" if isinstance(part, KeyReference) else "aggregate"
    return f"{_CARRIED} {kind} {part.position}"


def _variable(expression: ast.Expression) -> str:
    return expression.name if isinstance(expression, ast.Variable) else ""


def _passed(name: str, variable: str) -> OutputColumn:
    return OutputColumn(name, ast.Variable(NOWHERE, variable))
