"""What an expression can be, as far as the text tells: a set of types, or anything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

__all__ = ["ANY", "BOOLEAN", "FLOAT", "INTEGER", "LIST", "MAP", "STRING", "Static", "list_of", "of"]

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
"""As Neo4j's messages list them."""


@dataclass(frozen=True, slots=True)
class Static:
    """A set of types; None for all of them. ``element`` is what the elements of a List can be."""

    types: frozenset[str] | None
    element: Static | None = None

    def meets(self, other: Static) -> bool:
        """Whether a value can be of both; elements count where both are certainly lists."""
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
            return self.element.meets(other.element)
        return True

    def has(self, kind: str) -> bool:
        """Whether a value can be of this type."""
        return self.types is None or kind in self.types

    def is_certainly(self, kind: str) -> bool:
        """Whether a value that is not null is of this type."""
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


def of(*types: str) -> Static:
    """One of these types."""
    return Static(frozenset(types))


def list_of(element: Static) -> Static:
    """A list of such elements."""
    return Static(frozenset(("List",)), element)


ANY: Final = Static(None)
BOOLEAN: Final = of("Boolean")
INTEGER: Final = of("Integer")
FLOAT: Final = of("Float")
STRING: Final = of("String")
LIST: Final = of("List")
MAP: Final = of("Map")
