"""Static type checks: expressions that Neo4j rejects before it runs a query.

As in Neo4j 5.26, these are rejected: a condition (WHERE, NOT, AND, OR, XOR) that certainly is not a
truth value, including lists; IN with a right side that certainly is not a list; a property, label
or id of a value that certainly is not a node or relationship; ``labels(r)``, ``type(n)``.
Everything that may be valid at run time is accepted, as are all comparisons and text tests between
types: they are false or null. A property may have any storable type, a parameter any type.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

from gpugda.deadline import check_time
from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.functions import unknown_function
from gpugda.query.query_graph import ColumnReference

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.types import Span

__all__ = ["AGGREGATES", "Kind", "TypeChecker", "UncheckedTypes", "is_aggregate"]


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
