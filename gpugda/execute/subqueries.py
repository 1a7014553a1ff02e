"""Runs subqueries and patterns in expressions for all rows at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.aggregation.equal_rows import distinguishing
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.execute.batch import CARRIED, Batch
from gpugda.execute.lower import lower_subquery
from gpugda.execute.operators import simple
from gpugda.execute.operators.apply import numbered, owners_of
from gpugda.execute.operators.degree_lookup import DegreeLookup
from gpugda.execute.operators.project import Project
from gpugda.execute.seeds import entity_column
from gpugda.expressions.computed_columns import object_column
from gpugda.expressions.operands import Operand, distinct_values, take
from gpugda.plan.building.build import build_subquery
from gpugda.plan.building.subquery_body import subquery_body
from gpugda.plan.facts import Facts, Wanted
from gpugda.plan.logical import Argument
from gpugda.plan.optimizer import optimise
from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.operator import Operator
    from gpugda.expressions.environment import Environment

__all__ = ["Subqueries"]

_OWNER = f"{CARRIED}x"


@dataclass(frozen=True, slots=True, eq=False)
class _Lowered:
    operator: Operator
    columns: tuple[str, ...]


class Subqueries:
    """Runs the subqueries of one query; caches their operators with the query.

    Args:
        context: Context of the run. Only contexts passed on refer to this object, which avoids a
            reference cycle.
        kept: Operators by syntax node and the variables in scope.
        version: The version of Cypher that the query names, if any.
    """

    def __init__(
        self, context: ExecutionContext, kept: dict[object, _Lowered], version: int | None
    ) -> None:
        self.context = context
        self.version = version
        self._kept = kept

    def run(self, node: ast.Expression, environment: Environment) -> Operand:
        """The value of a subquery or pattern in each row of an environment."""
        named = {each.name for each in walk(node) if isinstance(each, ast.Variable)}
        names = tuple(sorted(name for name in environment.variables if name in named))
        columns = {name: environment.variables[name] for name in names}
        rows = Batch(environment.row_count, dict(columns))
        if _is_looked_up(self._lowered(node, names).operator):
            return self._values(node, names, rows)
        # Rows that agree in all variables of the subquery are computed once.
        groups = group_rows(
            [distinguishing(each) for each in columns.values()], environment.row_count
        )
        few = rows.take(groups.first)
        found = self._values(node, names, few)
        return take(found, groups.group_of)

    def _values(self, node: ast.Expression, names: tuple[str, ...], rows: Batch) -> Operand:
        lowered = self._lowered(node, names)
        argument = numbered(rows, _OWNER, None)
        context = replace(self.context.within(argument), subqueries=self)
        made = lowered.operator.batches(context)
        if isinstance(node, ast.ExistsSubquery | ast.PatternExpression):
            return _flags(_counts(made, rows.row_count) > 0)
        if isinstance(node, ast.CountSubquery):
            return Column(ColumnKind.INTEGER, _counts(made, rows.row_count))
        lists = _lists(made, rows.row_count, lowered.columns[0])
        if isinstance(node, ast.ShortestPathExpression):
            return object_column(_paths(node, lists, rows))
        return object_column(lists)

    def _lowered(self, node: ast.Expression, names: tuple[str, ...]) -> _Lowered:
        key = (id(node), names)
        if key not in self._kept:
            scope = dict.fromkeys(names, "")
            body, text = subquery_body(node), self.context.text
            rows = Argument(names)
            made = build_subquery(body, text, scope, rows=rows, version=self.version)
            wanted = _wanted(node)
            columns = made.columns if wanted is Wanted.ROWS else ()
            operator = lower_subquery(optimise(made.tree, Facts(wanted)), columns, text)
            self._kept[key] = _Lowered(operator, made.columns)
        return self._kept[key]


def _wanted(node: ast.Expression) -> Wanted:
    if isinstance(node, ast.ExistsSubquery | ast.PatternExpression):
        return Wanted.EXISTENCE
    return Wanted.NUMBER if isinstance(node, ast.CountSubquery) else Wanted.ROWS


def _is_looked_up(operator: Operator) -> bool:
    """True if running the subquery per row is cheaper than deduplicating rows first."""
    if isinstance(operator, DegreeLookup | Project):
        return _is_looked_up(operator.children[0])
    return isinstance(operator, simple.Argument)


def _paths(
    node: ast.ShortestPathExpression, lists: list[list[object]], rows: Batch
) -> list[object]:
    """One path or all paths per row; null if there is none or an end is null."""
    if not _wants_all(node):
        return [each[0] if each else None for each in lists]
    ends = [
        entity_column(rows.columns[each.variable.name], rows.row_count, is_node=True).valid
        for each in node.pattern.elements
        if isinstance(each, ast.NodePattern) and each.variable is not None
    ]
    known = [valid for valid in ends if valid is not None]
    if not known:
        return list(lists)
    there = np.logical_and.reduce(known).tolist()
    return [found if valid else None for found, valid in zip(lists, there, strict=True)]


def _wants_all(node: ast.ShortestPathExpression) -> bool:
    selector = node.pattern.selector
    return selector is not None and selector.kind is ast.SelectorKind.ALL_SHORTEST_PATHS


def _flags(holds: NDArray[np.bool_]) -> Column:
    return Column(ColumnKind.BOOLEAN, holds)


def _counts(made: Iterator[Batch], row_count: int) -> NDArray[np.int64]:
    counts = np.zeros(row_count, dtype=np.int64)
    for batch in made:
        rows = owners_of(batch, _OWNER)
        if batch.weights is None:
            counts += np.bincount(rows, minlength=row_count)
        else:
            np.add.at(counts, rows, batch.weights.astype(np.int64))
    return counts


def _lists(made: Iterator[Batch], row_count: int, column: str) -> list[list[object]]:
    lists: list[list[object]] = [[] for _ in range(row_count)]
    for batch in made:
        batch = batch.expanded()
        places, values = distinct_values(batch.columns[column], batch.row_count)
        owners = owners_of(batch, _OWNER).tolist()
        for owner, place in zip(owners, places.tolist(), strict=True):
            lists[owner].append(values[place])
    return lists
