"""``WHEN … THEN … ELSE``: each row goes through the first branch whose condition it satisfies."""

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
    """The rows with those of the branches that they take.

    Each branch is a subquery of the rows that take it, so that it aggregates each row by itself.

    Args:
        rows: What the clause begins with.
        clause: Its conditions.
        bodies: Trees of the branches on ``argument``, that of ELSE last.
        columns: What they return.
        argument: Columns of the rows; the last one is added here, the number of the branch.
        stays: Columns of the rows that stay.
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
    """Which branch a row takes; null where it is none."""
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
