"""Kinds of values as the compiler knows them; unlike in equality, integers and floats differ."""

from __future__ import annotations

from typing import Any

from gpugda.values import kind_of

__all__ = ["ANY", "TEMPORAL", "Kinds", "kind_of_value", "kinds"]

Kinds = frozenset[str]
"""A set of allowed kinds. Null is always allowed and not listed."""

_NAMES = (
    "boolean integer float string list map node relationship path point"
    " date localtime time localdatetime datetime duration"
)

ANY: Kinds = frozenset(_NAMES.split())
TEMPORAL: Kinds = frozenset(("date", "localtime", "time", "localdatetime", "datetime"))


def kinds(names: str) -> Kinds:
    """Parses kinds by name; ``number``, ``entity``, ``temporal`` and ``any`` stand for several.

    Raises:
        ValueError: A kind is unknown.
    """
    found: set[str] = set()
    for name in names.split():
        found |= _SEVERAL.get(name) or {name}
    if unknown := found - ANY:
        raise ValueError(f"unknown kinds of values: {sorted(unknown)}")
    return frozenset(found)


_SEVERAL: dict[str, Kinds] = {
    "any": ANY,
    "number": frozenset(("integer", "float")),
    "entity": frozenset(("node", "relationship")),
    "temporal": TEMPORAL,
}


def kind_of_value(value: Any) -> str:
    """The kind of a value; ``"null"`` for null."""
    kind = kind_of(value)
    if kind == "number":
        return "integer" if isinstance(value, int) else "float"
    return kind
