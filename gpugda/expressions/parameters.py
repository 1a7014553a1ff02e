"""A query's parameter values, converted to the value types of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.dehydration import dehydrated
from gpugda.errors import CypherTypeError, ParameterMissingError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
