"""``WHEN … THEN … ELSE``: each row takes the first branch whose condition is true for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.logical import (
    Apply,
    ApplyKind,
    Argument,
    Filter,
    Logical,
    Project,
    Union,
)
from gpugda.query import ast
from gpugda.query.query_graph import OutputColumn
from gpugda.query.shapes import join_by_ampersand
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["chosen_rows"]

_NOWHERE = Span(0, 0)


def chosen_rows(
    rows: Logical,
    clause: ast.When,
    bodies: Sequence[Logical],
    columns: tuple[str, ...],
    argument: Argument,
    stays: tuple[str, ...],
) -> Logical:
    """Joins each row with the rows of the branch that it takes.

    Each branch is a subquery of the rows that take it, so it aggregates once per input row.

    Args:
        rows: The input rows of the clause.
        clause: The clause with its conditions.
        bodies: The logical trees of the branches over ``argument``; ELSE is the last one.
        columns: The columns that every branch returns.
        argument: The input columns; the last one holds the branch number, which is added here.
        stays: The input columns that stay in scope.
    """
    number = argument.columns[-1]
    hidden = tuple(f"\0{name}" for name in columns)
    branches = []
    for place, body in enumerate(bodies):
        taking = Filter(argument, (_is(number, place),))
        renamed = Project(body, _renaming(columns, hidden))
        branches.append(Apply(taking, renamed, ApplyKind.INNER, hidden))
    numbered = Project(rows, (OutputColumn(number, _branch(clause)),), keeps=True)
    found = Apply(numbered, Union(tuple(branches)), ApplyKind.INNER, hidden)
    return Project(found, (*_renaming(hidden, columns), *_renaming(stays, stays)))


def _is(name: str, place: int) -> ast.Expression:
    operands = ast.Variable(_NOWHERE, name), ast.Literal(_NOWHERE, place)
    return ast.Comparison(_NOWHERE, operands, (ast.ComparisonOperator.EQUAL,))


def _branch(clause: ast.When) -> ast.Expression:
    """The number of the branch that a row takes; null if it takes none."""
    span = clause.span
    alternatives = tuple(
        ast.CaseAlternative(span, (join_by_ampersand(branch.condition),), ast.Literal(span, place))
        for place, branch in enumerate(clause.branches)
    )
    last = None if clause.otherwise is None else len(clause.branches)
    return ast.Case(span, None, alternatives, ast.Literal(span, last))


def _renaming(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[OutputColumn, ...]:
    pairs = zip(old, new, strict=True)
    return tuple(OutputColumn(name, ast.Variable(_NOWHERE, before)) for before, name in pairs)
