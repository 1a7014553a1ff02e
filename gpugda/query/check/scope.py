"""Scopes: visible variables and their possible types, as far as the text determines them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import CypherSyntaxError
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gpugda.query import ast
    from gpugda.types import Span

__all__ = [
    "ANY",
    "BOOLEAN",
    "FLOAT",
    "INTEGER",
    "LIST",
    "MAP",
    "NO_PARAMETERS",
    "STRING",
    "Scope",
    "TypeSet",
    "list_of",
    "of",
]

_ORDER: Final = (
    "Map",
    "Node",
    "Relationship",
    "Path",
    "Point",
    "Float",
    "Integer",
    "Duration",
    "Date",
    "Time",
    "LocalTime",
    "LocalDateTime",
    "DateTime",
    "String",
    "Boolean",
    "List",
)  # fmt: skip - two lines of words
"""In the order of Neo4j's messages."""


@value(frozen=True, slots=True)
class TypeSet:
    """A set of types; None for all types. ``element``: the possible types of a list's elements."""

    types: frozenset[str] | None
    element: TypeSet | None = None

    def overlaps(self, other: TypeSet) -> bool:
        """True if a value can have both types; elements count if both are certainly lists."""
        if self.types is None or other.types is None:
            return True
        if not self.types & other.types:
            return False
        if (
            self.is_certainly("List")
            and other.is_certainly("List")
            and self.element
            and other.element
        ):
            return self.element.overlaps(other.element)
        return True

    def has(self, kind: str) -> bool:
        """True if a value can have this type."""
        return self.types is None or kind in self.types

    def is_certainly(self, kind: str) -> bool:
        """True if every non-null value has this type."""
        return self.types == frozenset((kind,))

    def __str__(self) -> str:
        if self.types is None:
            return "Any"
        names = [self._name(kind) for kind in _ORDER if kind in self.types]
        return f"{', '.join(names[:-1])} or {names[-1]}" if len(names) > 1 else names[0]

    def _name(self, kind: str) -> str:
        if kind != "List":
            return kind
        return f"List<{self.element or 'T'}>"


def of(*types: str) -> TypeSet:
    """A value of one of these types."""
    return TypeSet(frozenset(types))


def list_of(element: TypeSet) -> TypeSet:
    """A list with elements of this type."""
    return TypeSet(frozenset(("List",)), element)


ANY: Final = TypeSet(None)
BOOLEAN: Final = of("Boolean")
INTEGER: Final = of("Integer")
FLOAT: Final = of("Float")
STRING: Final = of("String")
LIST: Final = of("List")
MAP: Final = of("Map")
NO_PARAMETERS: Final[Mapping[str, TypeSet]] = MappingProxyType({})


_ONLY_COLUMNS: Final = (
    "In a WITH/RETURN with DISTINCT or an aggregation, it is not possible to access variables"
    " declared before the WITH/RETURN: "
)


class Scope:
    """Visible variables by name.

    Args:
        text: The whole query text, for error messages.
        variables: The visible variables.
        outer: Imported variables of a subquery, which stay in scope and cannot be shadowed.
        version: Cypher version: 5 or 25.
        parameters: The types of parameters' values; none while the text alone is checked.

    Attributes:
        text: The whole query text.
        variables: The visible variables, including imported ones.
        outer: The imported variables.
        hidden: Variables that DISTINCT or an aggregation has dropped, while ORDER BY and WHERE of
            the same clause are checked. They can be declared again.
        fixed: Variables around EXISTS, COUNT or COLLECT, which are constant in it.
    """

    __slots__ = ("fixed", "hidden", "outer", "parameters", "text", "variables", "version")

    def __init__(
        self,
        text: str,
        variables: Mapping[str, TypeSet] | None = None,
        outer: Mapping[str, TypeSet] | None = None,
        *,
        version: int,
        parameters: Mapping[str, TypeSet] = NO_PARAMETERS,
    ) -> None:
        self.text = text
        self.version = version
        self.parameters = parameters
        self.outer = dict(outer or {})
        self.variables = {**(variables or {}), **self.outer}
        self.hidden: Collection[str] = ()
        self.fixed: Collection[str] = ()

    def with_locals(self, names: Mapping[str, TypeSet]) -> Scope:
        """The scope inside a comprehension or the like, whose variables may shadow others."""
        inner = self._with(self.variables, {})
        inner.outer = self.outer
        inner.variables.update(names)
        return inner

    def after(self, columns: Mapping[str, TypeSet], hidden: Collection[str] = ()) -> Scope:
        """The scope after a WITH with these columns."""
        following = self._with(columns, self.outer)
        following.hidden = hidden or self.hidden
        return following

    def inside(self) -> Scope:
        """The scope at the start of a subquery that sees all variables."""
        inner = self._with({}, self.variables)
        inner.fixed = self.variables
        return inner

    def with_outer(self, outer: Mapping[str, TypeSet]) -> Scope:
        """The scope at the start of a CALL that imports these variables."""
        return Scope(self.text, {}, outer, version=self.version, parameters=self.parameters)

    def _with(self, variables: Mapping[str, TypeSet], outer: Mapping[str, TypeSet]) -> Scope:
        made = self.with_outer(outer)
        made.variables = {**variables, **made.variables}
        made.hidden, made.fixed = self.hidden, self.fixed
        return made

    def read(self, variable: ast.Variable) -> TypeSet:
        """The type of a variable, which must be defined."""
        found = self.variables.get(variable.name)
        if found is None:
            if variable.name in self.hidden:
                self.fail(_ONLY_COLUMNS + variable.name, variable.span)
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
            self._refuse_shadowing(name, span)

    def check_local(self, variable: ast.Variable) -> None:
        """Rejects a name of a comprehension or the like that Neo4j 5.26 does not let shadow."""
        if self.version < 25 and variable.name in self.fixed:
            self._refuse_shadowing(variable.name, variable.span)

    def _refuse_shadowing(self, name: str, span: Span) -> NoReturn:
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

    def fail(
        self, message: str, span: Span, status: str | None = None, kind: str = "SyntaxError"
    ) -> NoReturn:
        """Raises the error of a query that Neo4j does not compile."""
        raise CypherSyntaxError(message, self.text, span, gql_status=status, kind=kind)
