"""RETURN's items to columns, grouping keys and aggregates.

What Neo4j 5.26 does, and this:

- ``*`` stands for all named variables by name, in code point order, without those whose name an
  item takes; then the items follow.
- If an item aggregates, the items that do not are the grouping keys. Beside its aggregates an
  aggregating item may use constants, parameters, and of the pattern only what is a grouping key as
  it stands: a variable, or a property of a variable. From a variable that is a key everything may
  be computed; an expression that is a key may not be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, KeyReference, OutputColumn
from gpugda.query.shapes import rewrite, shape, variable_names
from gpugda.query.static_types import Kind, TypeChecker, UncheckedTypes, is_aggregate
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["SUBQUERIES", "Returned", "declared_names", "read_columns"]

SUBQUERIES: Final = frozenset[type[ast.Node]](
    (ast.ExistsSubquery, ast.CountSubquery, ast.CollectSubquery)
)
"""What aggregates in them count is theirs."""
_DECLARING: Final = (ast.ListComprehension, ast.ListPredicate, ast.Reduce, ast.AllReduce)


@dataclass(frozen=True, slots=True)
class Returned:
    """What RETURN's items say.

    Args:
        columns: As in ``Query``.
        aggregating: As in ``Query``.
        grouping: As in ``Query``.
        aggregates: As in ``Query``.
        written: Per column its expression over the pattern's variables.
        kinds: Per column what it certainly is.
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
) -> Returned:
    """The columns of RETURN.

    Args:
        projection: RETURN's body.
        variables: Kind of each named variable of the pattern.
        text: The query, for errors.
        checker: Given where types were checked already.

    Raises:
        CypherSyntaxError: A variable is not defined, a type is wrong, two columns have one name,
            ``*`` stands for nothing, or an aggregate is mixed with what is no grouping key.
    """
    items = [*_star(projection, variables, text), *projection.items]
    _check_names(items, text)
    types = checker or TypeChecker(text, variables, aggregates=True)
    kinds = tuple(types.kind(item.expression) for item in items)
    written = tuple(item.expression for item in items)
    if not any(map(_has_aggregate, written)):
        columns = tuple(OutputColumn(item.name, item.expression) for item in items)
        return Returned(columns, False, (), (), written, kinds)
    grouping = _Grouping([each for each in written if not _has_aggregate(each)], text)
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
    """Grouping keys and aggregates, and columns in terms of them."""

    def __init__(self, keys: list[ast.Expression], text: str) -> None:
        self._text = text
        self.keys: list[ast.Expression] = []
        self.aggregates: list[ast.Expression] = []
        self._positions: dict[Hashable, KeyReference | AggregateReference] = {}
        for key in keys:
            self._key(key)
        self._written = frozenset(self._positions)
        self._own: frozenset[str] = frozenset()

    def column(self, expression: ast.Expression) -> ast.Expression:
        """An item over references to keys and aggregates."""
        known = self._positions.get(shape(expression))
        if known is not None and not _has_aggregate(expression):
            return known
        self._own = declared_names(expression)
        return rewrite(expression, self._in_aggregating_item)

    def _in_aggregating_item(self, part: ast.Expression) -> ast.Expression | None:
        if is_aggregate(part):
            return self._aggregate(part)
        names = variable_names(part) - self._own
        if isinstance(part, ast.Variable) and part.name in self._own:
            return part
        if not names:
            return None if _has_aggregate(part) else part
        if self._is_simple_key(part):
            return self._positions[shape(part)]
        # A function of a key that is a variable is one value a group: a key that is not returned.
        if _is_of_one_variable(part) and names <= self._written:
            return self._key(part)
        if isinstance(part, ast.Variable | ast.Property):
            self._fail(part)
        return None

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
            f" uses '{part.span.of(self._text)}', which is no column of its own; return it as well"
        )
        raise CypherSyntaxError(message, self._text, part.span)


def _is_of_one_variable(part: ast.Expression) -> bool:
    """``a.key``, ``a:Label``, ``labels(a)`` and the like."""
    if isinstance(part, ast.Property | ast.LabelPredicate):
        return isinstance(part.subject, ast.Variable)
    if isinstance(part, ast.FunctionCall):
        return all(isinstance(argument, ast.Variable) for argument in part.arguments)
    return False
