"""Resolves RETURN items to columns, grouping keys and aggregates.

The rules of Neo4j 5.26, which are implemented here:

- ``*`` stands for all named variables in code point order, without those whose name an item takes;
  the items follow.
- If an item aggregates, the items without aggregates are the grouping keys. Outside its aggregates,
  an aggregating item may use constants, parameters and grouping keys that are a variable or a
  property of a variable. Any expression may be computed from a variable that is a key; an
  expression that is a key must not be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, KeyReference, OutputColumn
from gpugda.query.scope_expressions import SUBQUERIES
from gpugda.query.shapes import rewrite_in_scopes, shape, variable_names
from gpugda.query.static_types import Kind, TypeChecker, UncheckedTypes, is_aggregate
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

__all__ = ["QUERIES", "Returned", "declared_names", "read_columns"]

QUERIES: Final = (
    ast.Subquery,
    ast.PatternExpression,
    ast.PatternComprehension,
    ast.ShortestPathExpression,
)
"""Expressions that find rows of their own."""
_DECLARING: Final = (ast.ListComprehension, ast.ListPredicate, ast.Reduce, ast.AllReduce)


@dataclass(frozen=True, slots=True)
class Returned:
    """The analysed items of RETURN.

    Args:
        columns: As in ``Query``.
        aggregating: As in ``Query``.
        grouping: As in ``Query``.
        aggregates: As in ``Query``.
        written: Per column, its expression over the pattern's variables.
        kinds: Per column, its certain kind.
    """

    columns: tuple[OutputColumn, ...]
    aggregating: bool
    grouping: tuple[ast.Expression, ...]
    aggregates: tuple[ast.Expression, ...]
    written: tuple[ast.Expression, ...]
    kinds: tuple[Kind, ...]


def read_columns(
    projection: ast.Projection,
    variables: Mapping[str, Kind],
    text: str,
    checker: UncheckedTypes | None = None,
    constant: Collection[str] = (),
) -> Returned:
    """Analyses the columns of RETURN.

    Args:
        projection: The body of RETURN.
        variables: Kind of each named variable of the pattern.
        text: The query text, for error messages.
        checker: Set if types have been checked already.
        constant: Names of variables that are constant in the query: those of an outer query.

    Raises:
        UnsupportedQueryError: An item with an aggregate has a subquery that reads a variable which
            is not a key by itself.
        CypherSyntaxError: A variable is undefined, a type is wrong, two columns have the same name,
            ``*`` stands for nothing, or an aggregate is mixed with a non-grouping expression.
    """
    items = [*_star(projection, variables, text), *projection.items]
    _check_names(items, text)
    types = checker or TypeChecker(text, variables, aggregates=True)
    kinds = tuple(types.kind(item.expression) for item in items)
    written = tuple(item.expression for item in items)
    if not any(map(_has_aggregate, written)):
        columns = tuple(OutputColumn(item.name, item.expression) for item in items)
        return Returned(columns, False, (), (), written, kinds)
    own = frozenset(variables).difference(constant)
    grouping = _Grouping([each for each in written if not _has_aggregate(each)], own, text)
    columns = tuple(OutputColumn(item.name, grouping.column(item.expression)) for item in items)
    keys, aggregates = tuple(grouping.keys), tuple(grouping.aggregates)
    return Returned(columns, True, keys, aggregates, written, kinds)


def _star(
    projection: ast.Projection, variables: Mapping[str, Kind], text: str
) -> list[ast.ReturnItem]:
    if not projection.star:
        return []
    if not variables:
        message = "RETURN * is not allowed when there are no variables in scope"
        raise CypherSyntaxError(message, text, projection.span)
    span = projection.span
    taken = {item.name for item in projection.items}
    return [
        ast.ReturnItem(span, ast.Variable(span, name), None, name)
        for name in sorted(variables)
        if name not in taken
    ]


def _check_names(items: list[ast.ReturnItem], text: str) -> None:
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            message = f"two columns have the same name, {item.name!r}: rename one with AS"
            raise CypherSyntaxError(message, text, item.span)
        seen.add(item.name)


def _has_aggregate(expression: ast.Expression) -> bool:
    return any(map(is_aggregate, walk(expression, without=SUBQUERIES)))


def declared_names(expression: ast.Expression) -> frozenset[str]:
    """Variables that an expression declares itself."""
    nodes = [each for each in walk(expression) if isinstance(each, _DECLARING)]
    own = {each.variable.name for each in nodes}
    return frozenset(own | {a.name for e in nodes if (a := getattr(e, "accumulator", None))})


class _Grouping:
    """Grouping keys and aggregates, and columns expressed through them."""

    def __init__(self, keys: list[ast.Expression], variables: frozenset[str], text: str) -> None:
        self._text = text
        self._variables = variables
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
            self._fail(part)
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

    def _fail(self, part: ast.Expression) -> None:
        message = (
            "Aggregation column contains implicit grouping expressions: an expression with count()"
            f" uses '{part.span.of(self._text)}', which is not a column of its own: return it, too"
        )
        raise CypherSyntaxError(message, self._text, part.span)


def _is_of_one_variable(part: ast.Expression) -> bool:
    """``a.key``, ``a:Label``, ``labels(a)`` and the like."""
    if isinstance(part, ast.Property | ast.LabelPredicate):
        return isinstance(part.subject, ast.Variable)
    if isinstance(part, ast.FunctionCall):
        return all(isinstance(argument, ast.Variable) for argument in part.arguments)
    return False
