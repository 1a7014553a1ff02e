"""The possible types of an expression, as far as the text determines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = [
    "ANY",
    "BOOLEAN",
    "FLOAT",
    "INTEGER",
    "LIST",
    "MAP",
    "STRING",
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


@dataclass(frozen=True, slots=True)
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
