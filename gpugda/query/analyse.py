"""Semantic analysis: resolves names and checks types and scopes of a syntax tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

from gpugda.deadline import check_time
from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.check.expressions import SUBQUERIES
from gpugda.query.check.functions import unknown_function
from gpugda.query.query_graph import (
    AggregateReference,
    ColumnReference,
    KeyReference,
    OutputColumn,
    Query,
    QueryGraph,
    QueryNode,
    QueryRelationship,
    SortKey,
    anonymous_node_name,
    anonymous_relationship_name,
)
from gpugda.query.shapes import (
    conjuncts,
    join_by_ampersand,
    label_conjuncts,
    rewrite_in_scopes,
    shape,
    substitute,
    variable_names,
)
from gpugda.query.statement import typed_parameters
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from gpugda.types import Span

__all__ = [
    "AGGREGATES",
    "QUERIES",
    "Kind",
    "OrderReader",
    "QueryGraphReader",
    "Returned",
    "TypeChecker",
    "UncheckedTypes",
    "analyse",
    "declared_names",
    "is_aggregate",
    "read_columns",
]


class Kind(StrEnum):
    """The certain type of an expression, named as in Neo4j's messages."""

    NODE = "Node"
    RELATIONSHIP = "Relationship"
    BOOLEAN = "Boolean"
    INTEGER = "Integer"
    FLOAT = "Float"
    STRING = "String"
    LIST = "List"
    MAP = "Map"
    STORABLE = "a property value"
    ANY = "Any"


_LITERALS: Final[Mapping[type, Kind]] = {
    bool: Kind.BOOLEAN,
    int: Kind.INTEGER,
    float: Kind.FLOAT,
    str: Kind.STRING,
}
_ENTITIES: Final = frozenset((Kind.NODE, Kind.RELATIONSHIP, Kind.ANY))
_CONDITIONS: Final = frozenset((Kind.BOOLEAN, Kind.STORABLE, Kind.ANY))
_LISTS: Final = frozenset((Kind.LIST, Kind.STORABLE, Kind.ANY))
_WITH_KEYS: Final = _ENTITIES | {Kind.MAP, Kind.STORABLE}
_LOGICAL: Final = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)

# Function: possible argument types, their name in messages, and the result type.
_FUNCTIONS: Final[Mapping[str, tuple[frozenset[Kind], str, Kind]]] = {
    "id": (_ENTITIES, "Node or Relationship", Kind.INTEGER),
    "elementid": (_ENTITIES, "Node or Relationship", Kind.STRING),
    "labels": (frozenset((Kind.NODE, Kind.ANY)), "Node", Kind.LIST),
    "type": (frozenset((Kind.RELATIONSHIP, Kind.ANY)), "Relationship", Kind.STRING),
    "count": (frozenset(Kind), "Any", Kind.INTEGER),
}


AGGREGATES: Final = frozenset(
    (
        "avg",
        "collect",
        "count",
        "max",
        "min",
        "percentilecont",
        "percentiledisc",
        "stdev",
        "stdevp",
        "sum",
    )
)
"""Aggregating functions, in lower case."""


def is_aggregate(node: ast.Node) -> bool:
    """``count(*)``, or a call of an aggregating function."""
    return isinstance(node, ast.CountStar) or (
        isinstance(node, ast.FunctionCall) and node.name.lower() in AGGREGATES
    )


class UncheckedTypes:
    """Accepts any expression, for queries whose types were checked as a whole."""

    def kind(self, node: ast.Expression) -> Kind:
        """Always `Kind.ANY`."""
        return Kind.ANY


class TypeChecker:
    """Determines an expression's kind, and rejects what Neo4j would refuse to compile.

    Args:
        text: The query text, for error messages.
        variables: Kind of each visible variable.
        columns: Kind of each returned column, when sort keys are checked.
        aggregates: True if ``count()`` is allowed.
    """

    def __init__(
        self,
        text: str,
        variables: Mapping[str, Kind],
        columns: tuple[Kind, ...] = (),
        *,
        aggregates: bool = False,
    ) -> None:
        self._text = text
        self._variables = variables
        self._columns = columns
        self._aggregates = aggregates
        self._inside_aggregate = False

    def condition(self, node: ast.Expression) -> None:
        """Checks a condition: of WHERE, or below NOT, AND, OR, XOR.

        Raises:
            CypherSyntaxError: It cannot be a truth value, or a part of it is invalid.
        """
        kind = self.kind(node)
        if kind is Kind.LIST:
            self._fail("A list is not a condition: write size(x) > 0 or NOT isEmpty(x)", node.span)
        self._expect(node, kind, _CONDITIONS, "Boolean")

    def kind(self, node: ast.Expression) -> Kind:
        """The kind of an expression; all of its parts are checked.

        Raises:
            CypherSyntaxError: A part of it is invalid.
        """
        check_time()
        check = _CHECKS.get(type(node))
        if check is not None:
            return check(self, node)
        if isinstance(node, ast.Literal):
            return _LITERALS.get(type(node.value), Kind.ANY)
        return Kind.ANY

    # -------------------------------------------------------------- kinds of nodes
    def _variable(self, node: ast.Variable) -> Kind:
        if node.name not in self._variables:
            self._fail(f"Variable `{node.name}` not defined", node.span)
        return self._variables[node.name]

    def _column(self, node: ColumnReference) -> Kind:
        return self._columns[node.position]

    def _property(self, node: ast.Property) -> Kind:
        kind = self.kind(node.subject)
        self._expect(node.subject, kind, _WITH_KEYS, "Map, Node, Relationship or a temporal value")
        return Kind.STORABLE if kind in (Kind.NODE, Kind.RELATIONSHIP) else Kind.ANY

    def _unary(self, node: ast.Unary) -> Kind:
        if node.operator is ast.UnaryOperator.NOT:
            self.condition(node.operand)
        else:
            self.kind(node.operand)
        return Kind.BOOLEAN

    def _binary(self, node: ast.Binary) -> Kind:
        if node.operator in _LOGICAL:
            self.condition(node.left)
            self.condition(node.right)
            return Kind.BOOLEAN
        self.kind(node.left)
        kind = self.kind(node.right)
        if node.operator is ast.BinaryOperator.IN:
            self._expect(node.right, kind, _LISTS, "List")
        return Kind.BOOLEAN

    def _comparison(self, node: ast.Comparison) -> Kind:
        for operand in node.operands:
            self.kind(operand)
        return Kind.BOOLEAN

    def _label_predicate(self, node: ast.LabelPredicate) -> Kind:
        self._expect(node.subject, self.kind(node.subject), _ENTITIES, "Node or Relationship")
        return Kind.BOOLEAN

    def _list(self, node: ast.ListLiteral) -> Kind:
        for item in node.items:
            self.kind(item)
        return Kind.LIST

    def _map(self, node: ast.MapLiteral) -> Kind:
        for _, value in node.entries:
            self.kind(value)
        return Kind.MAP

    def _count_star(self, node: ast.CountStar) -> Kind:
        self._check_aggregate(node)
        return Kind.INTEGER

    def _function(self, node: ast.FunctionCall) -> Kind:
        known = _FUNCTIONS.get(node.name.lower())
        if known is None:
            self._fail(unknown_function(node.name), node.span)
        allowed, expected, result = known
        if len(node.arguments) != 1:
            problem = "Insufficient" if not node.arguments else "Too many"
            self._fail(f"{problem} parameters for function '{node.name}'", node.span)
        argument = node.arguments[0]
        if is_aggregate(node):
            self._check_aggregate(node)
            return self._aggregated(argument, result)
        if node.distinct:
            self._fail(f"Invalid use of DISTINCT with function '{node.name}'", node.span)
        self._expect(argument, self.kind(argument), allowed, expected)
        return result

    def _aggregated(self, argument: ast.Expression, result: Kind) -> Kind:
        self._inside_aggregate = True
        self.kind(argument)
        self._inside_aggregate = False
        return result

    # -------------------------------------------------------------- errors
    def _check_aggregate(self, node: ast.Expression) -> None:
        if self._inside_aggregate:
            self._fail("Can't use aggregate functions inside of aggregate functions", node.span)
        if not self._aggregates:
            message = (
                "Invalid use of aggregating function count(...) in this context:"
                " it can stand in RETURN and ORDER BY"
            )
            self._fail(message, node.span)

    def _expect(
        self, node: ast.Expression, kind: Kind, allowed: frozenset[Kind], expected: str
    ) -> None:
        if kind not in allowed:
            self._fail(f"Type mismatch: expected {expected} but was {kind}", node.span)

    def _fail(self, message: str, span: Span) -> NoReturn:
        raise CypherSyntaxError(message, self._text, span)


_CHECKS: Final[Mapping[type, Callable[[TypeChecker, Any], Kind]]] = {
    ast.Variable: TypeChecker._variable,
    ast.Property: TypeChecker._property,
    ast.Unary: TypeChecker._unary,
    ast.Binary: TypeChecker._binary,
    ast.Comparison: TypeChecker._comparison,
    ast.LabelPredicate: TypeChecker._label_predicate,
    ast.ListLiteral: TypeChecker._list,
    ast.MapLiteral: TypeChecker._map,
    ast.CountStar: TypeChecker._count_star,
    ast.FunctionCall: TypeChecker._function,
    ColumnReference: TypeChecker._column,
}


# Globals, as looking up an enum member takes longer than the work done with it.
_NODE: Final = Kind.NODE
_RELATIONSHIP: Final = Kind.RELATIONSHIP
_INCOMING: Final = ast.Direction.INCOMING
_BOTH: Final = ast.Direction.BOTH


@dataclass(slots=True)
class _Predicates:
    """Conjuncts in the order of ``QueryGraph.predicates``."""

    of_nodes: list[ast.Expression] = field(default_factory=list)
    of_relationships: list[ast.Expression] = field(default_factory=list)
    others: list[ast.Expression] = field(default_factory=list)


class QueryGraphReader:
    """Adds MATCH clauses to a query graph.

    Args:
        text: The query text, for error messages.

    Attributes:
        kinds: The kind of each variable: node or relationship.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.kinds: dict[str, Kind] = {}
        self._nodes: dict[str, tuple[int, dict[ast.LabelExpression, None]]] = {}
        self._label_names: dict[str, ast.LabelName] = {}
        self._relationships: list[QueryRelationship] = []
        self._first_of_name: dict[str, int] = {}
        self._predicates = _Predicates()
        self._clause = 0
        self._inline: list[tuple[str, ast.NodePattern | ast.RelationshipPattern]] = []
        self._no_rows: str | None = None

    def read(self, clause: ast.Match) -> None:
        """Adds a clause.

        Raises:
            CypherSyntaxError: A variable is undefined or has two kinds, or a condition is invalid.
        """
        self._inline = []
        before = len(self._relationships)
        for pattern in clause.patterns:
            self._read_pattern(pattern)
        checker = TypeChecker(self._text, self.kinds)
        for name, element in self._inline:
            self._read_inline(name, element, checker)
        if clause.where is not None:
            checker.condition(clause.where)
            self._predicates.others.extend(conjuncts(join_by_ampersand(clause.where)))
        if len(self._relationships) > before:
            self._clause += 1

    def graph(self) -> QueryGraph:
        """The query graph of the clauses read so far."""
        nodes = (
            QueryNode(position, name, tuple(labels))
            for name, (position, labels) in self._nodes.items()
        )
        found = self._predicates
        predicates = (*found.of_nodes, *found.of_relationships, *found.others)
        return QueryGraph(tuple(nodes), tuple(self._relationships), predicates, self._no_rows)

    # -------------------------------------------------------------- patterns
    def _read_pattern(self, pattern: ast.Pattern) -> None:
        before: int | None = None
        arrow: ast.RelationshipPattern | None = None
        for element in pattern.elements:
            if isinstance(element, ast.RelationshipPattern):
                arrow = element
            elif isinstance(element, ast.NodePattern):
                before, arrow = self._node(element, arrow, before), None

    def _node(
        self, pattern: ast.NodePattern, arrow: ast.RelationshipPattern | None, before: int | None
    ) -> int:
        # The relationship comes first in the text: a name of both kinds is reported at the node.
        if arrow is not None and arrow.variable is not None:
            self._check_kind(arrow.variable, _RELATIONSHIP)
        if pattern.variable is None:
            name = anonymous_node_name(len(self._nodes))
        else:
            name = pattern.variable.name
            self._check_kind(pattern.variable, _NODE)
        found = self._nodes.get(name)
        if found is None:
            found = self._nodes[name] = len(self._nodes), {}
        position, labels = found
        if pattern.labels is not None:
            for each in label_conjuncts(pattern.labels):
                labels[self._shared(each)] = None
        if arrow is not None and before is not None:
            self._relationship(arrow, before, position)
        if pattern.properties is not None or pattern.where is not None:
            self._inline.append((name, pattern))
        return position

    def _check_kind(self, variable: ast.Variable, kind: Kind) -> None:
        if self.kinds.setdefault(variable.name, kind) is not kind:
            self._fail_kind(variable, kind)

    def _relationship(self, pattern: ast.RelationshipPattern, left: int, right: int) -> None:
        position = len(self._relationships)
        incoming, variable = pattern.direction is _INCOMING, pattern.variable
        name = anonymous_relationship_name(position) if variable is None else variable.name
        first = self._first_of_name.setdefault(name, position)
        if first != position:
            self._note_repetition(name)
        self._relationships.append(
            QueryRelationship(
                position=position,
                name=name,
                source=right if incoming else left,
                target=left if incoming else right,
                directed=pattern.direction is not _BOTH,
                types=None if pattern.types is None else self._shared(pattern.types),
                clause=self._clause,
                same_as=first if first != position else None,
            )
        )
        if pattern.properties is not None or pattern.where is not None:
            self._inline.append((name, pattern))

    def _shared(self, labels: ast.LabelExpression) -> ast.LabelExpression:
        """One shared object per label name, as the garbage collector scans all cached queries."""
        if isinstance(labels, ast.LabelName):
            return self._label_names.setdefault(labels.name, labels)
        return labels

    def _note_repetition(self, name: str) -> None:
        if any(r.name == name and r.clause == self._clause for r in self._relationships):
            self._no_rows = (
                f"The relationship variable `{name}` occurs twice in one MATCH clause,"
                " whose relationships are all different."
            )

    # -------------------------------------------------------------- conditions inside patterns
    def _read_inline(
        self, name: str, element: ast.NodePattern | ast.RelationshipPattern, checker: TypeChecker
    ) -> None:
        found = self._predicates
        if isinstance(element.properties, ast.Parameter):
            message = "MATCH takes no map from a parameter: write {key: $map.key}"
            raise CypherSyntaxError(message, self._text, element.properties.span)
        if element.variable is not None:
            place = found.others
        elif isinstance(element, ast.NodePattern):
            place = found.of_nodes
        else:
            place = found.of_relationships
        for key, value in element.properties.entries if element.properties is not None else ():
            checker.kind(value)
            place.append(_has_value(name, key, join_by_ampersand(value)))
        if element.where is not None:
            checker.condition(element.where)
            found.others.extend(conjuncts(join_by_ampersand(element.where)))

    def _fail_kind(self, variable: ast.Variable, wanted: Kind) -> NoReturn:
        message = (
            f"Type mismatch: `{variable.name}` defined with conflicting type"
            f" {self.kinds[variable.name]} (expected {wanted})"
        )
        raise CypherSyntaxError(message, self._text, variable.span)


def _has_value(name: str, key: str, value: ast.Expression) -> ast.Expression:
    span: Span = value.span
    subject = ast.Property(span, ast.Variable(span, name), key)
    return ast.Comparison(span, (subject, value), (ast.ComparisonOperator.EQUAL,))


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


_OWN_NAMES: Final = SUBQUERIES.union(QUERIES)
"""Expressions that may declare variables in a pattern."""


class OrderReader:
    """Resolves the keys of one ORDER BY.

    Args:
        returned: The analysed items of RETURN.
        variables: Kind of each named variable of the pattern.
        text: The query text, for error messages.
        distinct: True for RETURN DISTINCT.
        checker: Set if types have been checked already.
        constant: As for `read_columns`.
    """

    def __init__(
        self,
        returned: Returned,
        variables: Mapping[str, Kind],
        text: str,
        *,
        distinct: bool,
        checker: UncheckedTypes | None = None,
        constant: Collection[str] = (),
    ) -> None:
        self._text = text
        self._variables = variables
        self._constant = constant
        self._aggregating = returned.aggregating
        self._only_columns = distinct or returned.aggregating
        self._names = {column.name: i for i, column in enumerate(returned.columns)}
        self._visible = {*self._names, *(constant if self._only_columns else variables)}
        self._shapes = {shape(each): i for i, each in reversed([*enumerate(returned.written)])}
        self._checker = checker or TypeChecker(text, variables, returned.kinds)

    def key(self, item: ast.SortItem) -> SortKey:
        """Resolves one sort key.

        Raises:
            CypherSyntaxError: It uses an undefined or no longer available variable, or has a wrong
                type.
        """
        expression = substitute(item.expression, self._column, self._visible)
        aggregate = next(filter(is_aggregate, walk(expression, without=SUBQUERIES)), None)
        if aggregate is not None and not self._aggregating:
            self._fail(
                "Cannot use aggregation in ORDER BY if there are no aggregate expressions in the"
                " preceding RETURN",
                aggregate.span,
            )
        own = declared_names(expression)
        if not isinstance(expression, QUERIES):
            for part in walk(expression, without=_OWN_NAMES):
                if isinstance(part, ast.Variable) and part.name not in own:
                    self._check_variable(part)
        if aggregate is not None:
            self._fail(
                "Illegal aggregation expression in ORDER BY: it has to be a column of its own",
                aggregate.span,
            )
        self._checker.kind(expression)
        return SortKey(expression, item.descending)

    def _column(self, part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Variable) and part.name in self._names:
            return ColumnReference(part.span, self._names[part.name])
        position = self._shapes.get(shape(part))
        return None if position is None else ColumnReference(part.span, position)

    def _check_variable(self, variable: ast.Variable) -> None:
        if variable.name not in self._variables:
            self._fail(f"Variable `{variable.name}` not defined", variable.span)
        if self._only_columns and variable.name not in self._constant:
            self._fail(
                "In a RETURN with DISTINCT or an aggregation, it is not possible to access"
                f" variables declared before the RETURN: {variable.name}",
                variable.span,
            )

    def _fail(self, message: str, span: Span) -> NoReturn:
        raise CypherSyntaxError(message, self._text, span)


_VERSION_WITH_MODES = 25
"""First Cypher version with match modes."""
_COUNT_KINDS = frozenset((Kind.INTEGER, Kind.STORABLE, Kind.ANY))


def analyse(tree: ast.Query) -> Query:
    """Analyses a query that has passed ``check_supported``.

    ``CYPHER 5`` and ``CYPHER 25`` have the same meaning within the supported language, except that
    only the latter has match modes.

    Raises:
        CypherSyntaxError: Neo4j would refuse to compile it: a variable is undefined or has two
            kinds, an expression has a wrong type, or a scope or grouping rule is violated.
    """
    *matches, last = tree.parts[0].clauses
    if len(tree.parts) != 1 or not isinstance(last, ast.Return):
        raise CypherSyntaxError("this is not a query of MATCH and RETURN", tree.text, tree.span)
    reader = QueryGraphReader(tree.text)
    for clause in matches:
        if not isinstance(clause, ast.Match):
            raise CypherSyntaxError("only MATCH can stand here", tree.text, clause.span)
        _check_mode(clause, tree)
        reader.read(clause)
    projection = last.projection
    returned = read_columns(projection, reader.kinds, tree.text)
    # Every parameter begins with this character, and most queries have none.
    nodes = list(walk(tree)) if "$" in tree.text else []
    order = OrderReader(returned, reader.kinds, tree.text, distinct=projection.distinct)
    return Query(
        text=tree.text,
        graph=reader.graph(),
        columns=returned.columns,
        aggregating=returned.aggregating,
        grouping=returned.grouping,
        aggregates=returned.aggregates,
        distinct=projection.distinct,
        order_by=tuple(order.key(item) for item in projection.order_by),
        skip=_window(projection.skip, "SKIP", tree.text),
        limit=_window(projection.limit, "LIMIT", tree.text),
        parameters=frozenset(n.name for n in nodes if isinstance(n, ast.Parameter)),
        typed_parameters=tuple(typed_parameters(nodes)),
        mode=tree.mode,
        version=tree.version,
        options=tree.options,
    )


def _check_mode(clause: ast.Match, tree: ast.Query) -> None:
    if clause.mode is None or tree.version == _VERSION_WITH_MODES:
        return
    message = (
        f"Match modes such as `{clause.mode}` are not supported yet in Cypher 5: leave it out, as "
        f"it says what MATCH does anyway, or begin the query with CYPHER {_VERSION_WITH_MODES}"
    )
    raise CypherSyntaxError(message, tree.text, clause.mode_span)


def _window(value: ast.Expression | None, word: str, text: str) -> ast.Expression | None:
    """Validates the expression of SKIP or LIMIT, as far as possible without parameters."""
    if value is None:
        return None
    if variable_names(value):
        message = (
            f"It is not allowed to refer to variables in {word}: its value must be known first"
        )
        raise CypherSyntaxError(message, text, value.span)
    if any(map(is_aggregate, walk(value))):
        raise CypherSyntaxError(f"{word} must not contain an aggregate", text, value.span)
    if isinstance(value, ast.Literal):
        is_count = isinstance(value.value, int) and not isinstance(value.value, bool)
        if not is_count or value.value < 0:
            message = f"{word} must be a non-negative integer, not {value.span.of(text)}"
            raise CypherSyntaxError(message, text, value.span)
        return value
    kind = TypeChecker(text, {}).kind(value)
    if kind not in _COUNT_KINDS:
        message = f"Type mismatch: {word} expected Integer but was {kind}"
        raise CypherSyntaxError(message, text, value.span)
    return value
