"""Groups whose keys have names, for subqueries in the columns of an aggregating projection."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.plan.building.subquery_body import outermost_subqueries
from gpugda.plan.logical import Aggregate, Logical, Project
from gpugda.query import ast
from gpugda.query.check.expressions import SUBQUERIES, is_aggregate
from gpugda.query.check.queries import IMPLICIT_GROUPING
from gpugda.query.query_graph import (
    AggregateReference,
    ColumnReference,
    KeyReference,
    OutputColumn,
    SortKey,
)
from gpugda.query.shapes import (
    QUERIES,
    rewrite,
    rewrite_in_scopes,
    shape,
    substitute,
    variable_names,
)
from gpugda.query.walk import walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable


__all__ = ["OrderReader", "Returned", "read_columns", "with_named_groups"]


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


@value(frozen=True, slots=True)
class Returned:
    """The items of WITH or RETURN.

    Args:
        columns: As in ``Query``.
        aggregating: As in ``Query``.
        grouping: As in ``Query``.
        aggregates: As in ``Query``.
        written: Per column, its expression over the variables before the projection.
    """

    columns: tuple[OutputColumn, ...]
    aggregating: bool
    grouping: tuple[ast.Expression, ...]
    aggregates: tuple[ast.Expression, ...]
    written: tuple[ast.Expression, ...]


def read_columns(
    projection: ast.Projection,
    variables: Collection[str],
    text: str,
    constant: Collection[str] = (),
) -> Returned:
    """The columns of a projection that was checked.

    Args:
        projection: The body of WITH or RETURN.
        variables: Names of the variables before it.
        text: The query text, for error messages.
        constant: Names of variables that are constant in the query: those of an outer query.

    Raises:
        UnsupportedQueryError: An item with an aggregate has a subquery that reads a variable which
            is not a key by itself.
    """
    items = [*_star(projection, variables), *projection.items]
    written = tuple(item.expression for item in items)
    if not any(map(_has_aggregate, written)):
        columns = tuple(OutputColumn(item.name, item.expression) for item in items)
        return Returned(columns, False, (), (), written)
    own = frozenset(variables).difference(constant)
    grouping = _Grouping([e for e in written if not _has_aggregate(e)], own, constant, text)
    columns = tuple(OutputColumn(item.name, grouping.column(item.expression)) for item in items)
    keys, aggregates = tuple(grouping.keys), tuple(grouping.aggregates)
    return Returned(columns, True, keys, aggregates, written)


def _star(projection: ast.Projection, variables: Collection[str]) -> list[ast.ReturnItem]:
    if not projection.star:
        return []
    span = projection.span
    taken = {item.name for item in projection.items}
    return [
        ast.ReturnItem(span, ast.Variable(span, name), None, name)
        for name in sorted(variables)
        if name not in taken
    ]


def _has_aggregate(expression: ast.Expression) -> bool:
    if isinstance(expression, ast.Variable) or (
        isinstance(expression, ast.Property) and isinstance(expression.subject, ast.Variable)
    ):
        return False
    return any(map(is_aggregate, walk(expression, without=SUBQUERIES)))


class _Grouping:
    """Grouping keys and aggregates, and columns expressed through them."""

    def __init__(
        self,
        keys: list[ast.Expression],
        variables: frozenset[str],
        constant: Collection[str],
        text: str,
    ) -> None:
        self._text = text
        self._variables = variables
        self._constant = frozenset(constant)
        self.keys: list[ast.Expression] = []
        self.aggregates: list[ast.Expression] = []
        self._positions: dict[Hashable, KeyReference | AggregateReference] = {}
        for key in keys:
            self._key(key)
        self._written = frozenset(self._positions)

    def column(self, expression: ast.Expression) -> ast.Expression:
        """An item in terms of references to keys and aggregates."""
        known = self._positions.get(shape(expression))
        if known is not None and not _has_aggregate(expression):
            return known
        return rewrite_in_scopes(expression, self._in_aggregating_item, ())

    def _in_aggregating_item(
        self, part: ast.Expression, declared: frozenset[str]
    ) -> ast.Expression | None:
        if is_aggregate(part):
            return self._aggregate(part)
        names = variable_names(part) - declared
        if isinstance(part, QUERIES):
            return self._query(part, names & self._variables)
        if isinstance(part, ast.Variable) and part.name in declared:
            return part
        if not names:
            return None if _has_aggregate(part) else part
        if self._is_simple_key(part):
            return self._positions[shape(part)]
        # A function of a key variable has one value per group: it becomes a hidden key.
        if _is_of_one_variable(part) and names <= self._written:
            return self._key(part)
        if isinstance(part, ast.Property) and not isinstance(part.subject, ast.Variable):
            return None  # of an expression over keys
        if isinstance(part, ast.Variable | ast.Property):
            return self._key(part) if names <= self._constant else self._fail(part)
        return None

    def _query(self, part: ast.Expression, names: frozenset[str]) -> ast.Expression:
        """A subquery or pattern, which is computed per group: it reads the keys by their names."""
        known = self._positions.get(shape(part))
        if known is not None:
            return known
        if not names <= self._written:
            message = (
                f"a subquery beside an aggregate that reads '{min(names - self._written)}', not a"
                " column of its own, is not supported by this engine: compute the aggregate in a"
                " WITH before"
            )
            construct = "a subquery beside an aggregate"
            raise UnsupportedQueryError(message, self._text, part.span, construct=construct)
        return part

    def _is_simple_key(self, part: ast.Expression) -> bool:
        simple = isinstance(part, ast.Variable) or (
            isinstance(part, ast.Property) and isinstance(part.subject, ast.Variable)
        )
        return simple and shape(part) in self._written

    def _key(self, key: ast.Expression) -> KeyReference:
        place = shape(key)
        if place not in self._positions:
            self._positions[place] = KeyReference(key.span, len(self.keys))
            self.keys.append(key)
        found = self._positions[place]
        assert isinstance(found, KeyReference)
        return found

    def _aggregate(self, aggregate: ast.Expression) -> AggregateReference:
        place = shape(aggregate)
        if place not in self._positions:
            self._positions[place] = AggregateReference(aggregate.span, len(self.aggregates))
            self.aggregates.append(aggregate)
        found = self._positions[place]
        assert isinstance(found, AggregateReference)
        return found

    def _fail(self, part: ast.Expression) -> NoReturn:
        raise CypherSyntaxError(IMPLICIT_GROUPING, self._text, part.span, gql_status="42I18")


def _is_of_one_variable(part: ast.Expression) -> bool:
    """``a.key``, ``a:Label``, ``labels(a)`` and the like."""
    if isinstance(part, ast.Property | ast.LabelPredicate):
        return isinstance(part.subject, ast.Variable)
    if isinstance(part, ast.FunctionCall):
        return all(isinstance(argument, ast.Variable) for argument in part.arguments)
    return False


class OrderReader:
    """Resolves the keys of one ORDER BY that was checked.

    Args:
        returned: The items of the projection.
        variables: Names of the variables before the projection.
        distinct: True for DISTINCT.
        constant: As for `read_columns`.
    """

    def __init__(
        self,
        returned: Returned,
        variables: Collection[str],
        *,
        distinct: bool,
        constant: Collection[str] = (),
    ) -> None:
        only_columns = distinct or returned.aggregating
        self._names = {column.name: i for i, column in enumerate(returned.columns)}
        self._visible = {*self._names, *(constant if only_columns else variables)}
        self._shapes = {shape(each): i for i, each in reversed([*enumerate(returned.written)])}

    def key(self, item: ast.SortItem) -> SortKey:
        """Resolves one sort key."""
        expression = substitute(item.expression, self._column, self._visible)
        return SortKey(expression, item.descending)

    def _column(self, part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Variable) and part.name in self._names:
            return ColumnReference(part.span, self._names[part.name])
        position = self._shapes.get(shape(part))
        return None if position is None else ColumnReference(part.span, position)
