"""Values of parameters, and the types that their positions allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.data.values.dehydration import dehydrated
from gpugda.errors import CypherTypeError, ParameterMissingError
from gpugda.query import ast
from gpugda.reference.trees import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Parameters"]


class Parameters:
    """The parameters of a query.

    Args:
        given: Values by name, of any type that the driver sends.
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
            CypherTypeError: Cypher has no such value.
        """
        if node.name not in self._given:
            message = f"no value was given for the parameter ${node.name}"
            raise ParameterMissingError(message, self._text, node.span)
        return self._converted(node.name, node)

    def _converted(self, name: str, node: ast.Parameter | None) -> Any:
        if name not in self._values:
            try:
                self._values[name] = dehydrated(self._given[name])
            except ValueError as error:
                message = f"the parameter ${name} cannot be used: {error}"
                span = None if node is None else node.span
                raise CypherTypeError(message, self._text, span) from error
        return self._values[name]

    def check(self, tree: ast.Node) -> None:
        """Raises errors for missing parameters and wrong types, even if there are no rows."""
        for part in parts_of(tree):
            for operand, expected in _typed_operands(part):
                self._check_kind(operand, expected)
        for part in parts_of(tree):
            if isinstance(part, ast.Parameter):
                self.value(part)
        for name in self._given:
            self._converted(name, None)  # the driver refuses such values even if unused

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
