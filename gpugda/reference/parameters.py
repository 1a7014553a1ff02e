"""Values of parameters, and the types that their positions allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.dehydration import dehydrated
from gpugda.errors import CypherTypeError, ParameterMissingError
from gpugda.query import ast
from gpugda.query.prepare import check_parameters
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

    def check(self, tree: ast.Query) -> None:
        """Raises errors for missing parameters and wrong types, even if there are no rows."""
        used = [part for part in parts_of(tree) if isinstance(part, ast.Parameter)]
        known = {part.name: self.value(part) for part in used if part.name in self._given}
        check_parameters(tree, known)
        for part in used:
            self.value(part)
        for name in self._given:
            self._converted(name, None)  # the driver refuses such values even if unused
