"""A query's parameter values, converted to the value types of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.dehydration import dehydrated
from gpugda.errors import CypherTypeError, ParameterMissingError
from gpugda.query.query_graph import ExpectedType
from gpugda.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.query.query_graph import TypedParameter
    from gpugda.types import Span

__all__ = ["Parameters"]


class Parameters:
    """Parameters by name, converted at first access.

    Args:
        given: Values of any type that a driver accepts.
        text: Query text, for error messages.
    """

    def __init__(self, given: Mapping[str, Any], text: str) -> None:
        self._given = given
        self._text = text
        self._converted: dict[str, Any] = {}

    def get(self, name: str, span: Span | None = None) -> Any:
        """The value of a parameter.

        Raises:
            ParameterMissingError: No value was given.
            CypherTypeError: Cypher has no such value.
        """
        if name not in self._converted:
            if name not in self._given:
                raise ParameterMissingError(
                    f"no value was given for the parameter ${name}: pass {name}=…", self._text, span
                )
            try:
                self._converted[name] = dehydrated(self._given[name])
            except ValueError as error:
                message = f"the parameter ${name} cannot be used: {error}"
                raise CypherTypeError(message, self._text, span) from error
        return self._converted[name]

    def check_type(self, typed: TypedParameter) -> None:
        """Checks the type of a parameter as Neo4j does before it runs a query.

        Null and floats always pass: Neo4j does not check the type of such parameters.

        Raises:
            ParameterMissingError: No value was given.
            CypherTypeError: The value's type is not the expected one.
        """
        name, span = typed.parameter.name, typed.parameter.span
        value = self.get(name, span)
        if value is None or isinstance(value, float):
            return
        kind = kind_of(value)
        if kind in _ACCEPTED[typed.expected]:
            return
        raise CypherTypeError(
            f"Type mismatch for parameter '{name}': "
            f"expected {typed.expected} but was {_TYPES[kind]}",
            self._text,
            span,
        )


_TYPES = {
    "boolean": "Boolean",
    "number": "Integer",
    "string": "String",
    "list": "List<T>",
    "map": "Map, Node or Relationship",
    "date": "Date",
    "time": "Time",
    "localtime": "LocalTime",
    "datetime": "DateTime",
    "localdatetime": "LocalDateTime",
    "duration": "Duration",
    "point": "Point",
}

# A map passes for an entity as long as no row reads the entity.
_ACCEPTED = {
    ExpectedType.TRUTH: {"boolean", "list"},
    ExpectedType.LIST: {"list"},
    ExpectedType.NODE: {"map"},
    ExpectedType.RELATIONSHIP: {"map"},
    ExpectedType.ENTITY: {"map"},
}
