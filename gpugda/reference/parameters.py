"""Values of parameters, and the types that their positions allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.data.temporal import is_stored_object, rezoned, temporal_from_native
from gpugda.errors import CypherTypeError, ParameterMissingError
from gpugda.query import ast
from gpugda.reference.trees import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Parameters"]

_LARGEST_DEPTH = 100


class Parameters:
    """The parameters of a query.

    Args:
        given: Values by name; tuples count as lists, Python's dates and times as Neo4j's.
        text: The query text, for error messages.
    """

    def __init__(self, given: Mapping[str, Any], text: str) -> None:
        self._given = given
        self._text = text
        self._values: dict[str, Any] = {}

    def value(self, node: ast.Parameter) -> Any:
        """The value of a parameter.

        Raises:
            ParameterMissingError: There is no value.
            CypherTypeError: The value is nested too deeply.
        """
        if node.name not in self._values:
            if node.name not in self._given:
                message = f"no value was given for the parameter ${node.name}"
                raise ParameterMissingError(message, self._text, node.span)
            given = self._given[node.name]
            if _is_deep(given):
                message = f"the parameter ${node.name} cannot be used: it is nested too deeply"
                raise CypherTypeError(message, self._text, node.span)
            self._values[node.name] = _normalised(given)
        return self._values[node.name]

    def check(self, tree: ast.Node) -> None:
        """Raises errors for missing parameters and wrong types, even if there are no rows."""
        for part in parts_of(tree):
            for operand, expected in _typed_operands(part):
                self._check_kind(operand, expected)
        for part in parts_of(tree):
            if isinstance(part, ast.Parameter):
                self.value(part)

    def _check_kind(self, node: ast.Expression | None, expected: _Expected) -> None:
        # Neo4j checks this at compile time and accepts floats.
        if not isinstance(node, ast.Parameter):
            return
        value = self.value(node)
        words, kinds = expected
        if value is None or isinstance(value, float) or values.kind_of(value) in kinds:
            return
        message = f"Type mismatch for parameter '{node.name}': expected {words} but was {value!r}"
        raise CypherTypeError(message, self._text, node.span)


_Expected = tuple[str, frozenset[str]]
"""A type name, and the kinds of parameter values that are accepted where it is expected."""

_TRUTH: _Expected = "Boolean", frozenset(("boolean", "list"))
_LIST: _Expected = "List<T>", frozenset(("list",))
_MAPS = frozenset(("map",))  # Neo4j accepts them as nodes and relationships at compile time
_ENTITIES: dict[str, _Expected] = {
    "id": ("Node or Relationship", _MAPS),
    "elementid": ("Node or Relationship", _MAPS),
    "labels": ("Node", _MAPS),
    "type": ("Relationship", _MAPS),
}
_CONNECTIVES = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)


def _typed_operands(node: ast.Node) -> list[tuple[ast.Expression | None, _Expected]]:
    """Operands with the type that a parameter in their position must have."""
    match node:
        case ast.Match(where=where) | ast.NodePattern(where=where):
            return [(where, _TRUTH)]
        case ast.RelationshipPattern(where=where):
            return [(where, _TRUTH)]
        case ast.Unary(operator=ast.UnaryOperator.NOT, operand=operand):
            return [(operand, _TRUTH)]
        case ast.Binary(operator=ast.BinaryOperator.IN, right=right):
            return [(right, _LIST)]
        case ast.Binary(operator=operator, left=left, right=right) if operator in _CONNECTIVES:
            return [(left, _TRUTH), (right, _TRUTH)]
        case ast.FunctionCall(name=name, arguments=(argument,)) if name.lower() in _ENTITIES:
            return [(argument, _ENTITIES[name.lower()])]
    return []


def _is_deep(value: Any) -> bool:
    """True if lists and maps are nested more than 100 levels deep; iterative, level by level.

    Each container of a level is visited once, even if it occurs several times.
    """
    level = [value]
    for _ in range(_LARGEST_DEPTH + 1):
        containers = {id(each): each for each in level if isinstance(each, list | tuple | dict)}
        level = [
            item
            for each in containers.values()
            for item in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _normalised(value: Any) -> Any:
    if is_stored_object(value):  # durations and points are tuples, but not lists
        return rezoned(value)
    if isinstance(value, list | tuple):
        return [_normalised(item) for item in value]
    if isinstance(value, dict):
        return {key: _normalised(item) for key, item in value.items()}
    native = temporal_from_native(value)
    return value if native is None else native
