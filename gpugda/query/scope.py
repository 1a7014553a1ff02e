"""Scopes: the visible variables and their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from gpugda.errors import CypherSyntaxError
from gpugda.query.type_sets import TypeSet, of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.query import ast
    from gpugda.types import Span

__all__ = ["Scope"]


class Scope:
    """Visible variables by name.

    Args:
        text: The whole query text, for error messages.
        variables: The visible variables.
        outer: Imported variables of a subquery, which stay in scope and cannot be shadowed.

    Attributes:
        text: The whole query text.
        variables: The visible variables, including imported ones.
        outer: The imported variables.
    """

    __slots__ = ("outer", "text", "variables")

    def __init__(
        self,
        text: str,
        variables: Mapping[str, TypeSet] | None = None,
        outer: Mapping[str, TypeSet] | None = None,
    ) -> None:
        self.text = text
        self.outer = dict(outer or {})
        self.variables = {**(variables or {}), **self.outer}

    def with_locals(self, names: Mapping[str, TypeSet]) -> Scope:
        """The scope inside a comprehension or the like, whose variables may shadow others."""
        inner = Scope(self.text, self.variables)
        inner.outer = self.outer
        inner.variables.update(names)
        return inner

    def after(self, columns: Mapping[str, TypeSet]) -> Scope:
        """The scope after a WITH with these columns."""
        return Scope(self.text, columns, self.outer)

    def inside(self) -> Scope:
        """The scope at the start of a subquery that sees all variables."""
        return Scope(self.text, {}, self.variables)

    def read(self, variable: ast.Variable) -> TypeSet:
        """The type of a variable, which must be defined."""
        found = self.variables.get(variable.name)
        if found is None:
            self.fail(f"Variable `{variable.name}` not defined", variable.span)
        return found

    def declare(self, variable: ast.Variable, kind: TypeSet) -> None:
        """Adds a variable, whose name must be new."""
        if variable.name in self.variables:
            self.fail(f"Variable `{variable.name}` already declared", variable.span)
        self.variables[variable.name] = kind

    def bind(self, variable: ast.Variable, kind: TypeSet) -> None:
        """Adds a pattern variable, or checks that an existing one can have this type."""
        found = self.variables.setdefault(variable.name, kind)
        if not found.overlaps(kind):
            message = (
                f"Type mismatch: `{variable.name}` defined with conflicting type {found}"
                f" (expected {kind})"
            )
            self.fail(message, variable.span, "22N27")

    def check_not_outer(self, name: str, span: Span) -> None:
        """Rejects a name that would shadow an imported variable."""
        if name in self.outer:
            message = (
                f"The variable `{name}` is shadowing a variable with the same name from the outer"
                " scope and needs to be renamed"
            )
            self.fail(message, span, "42N07")

    def expect(self, found: TypeSet, wanted: TypeSet, span: Span, status: str = "22NB1") -> None:
        """Rejects a certainly different type. An integer is accepted as a float."""
        if found.overlaps(wanted) or (wanted.has("Float") and found.overlaps(of("Integer"))):
            return
        self.fail(f"Type mismatch: expected {wanted} but was {found}", span, status)

    def fail(self, message: str, span: Span, status: str | None = None) -> NoReturn:
        """Raises the error of a query that Neo4j does not compile."""
        raise CypherSyntaxError(message, self.text, span, gql_status=status)
