"""Text forms of values, as ``toString()`` prints them, and of their types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.expressions.kinds import TEMPORAL, kind_of_value
from gpugda.expressions.numbers import float_text
from gpugda.expressions.spatial import crs_name
from gpugda.expressions.temporal.printing import duration_text, moment_text
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = ["PRINTED_KINDS", "text_of", "value_type"]


def _boolean_text(item: Any) -> str:
    return "true" if item else "false"


def _point_text(item: Any) -> str:
    axes = ", ".join(
        f"{axis}: {float_text(number)}" for axis, number in zip("xyz", item, strict=False)
    )
    return f"point({{{axes}, crs: '{crs_name(item.srid)}'}})"


_TEXTS: dict[str, Callable[[Any], str]] = {
    "string": str,
    "integer": str,
    "float": float_text,
    "boolean": _boolean_text,
    **dict.fromkeys(TEMPORAL, moment_text),
    "duration": duration_text,
    "point": _point_text,
}

PRINTED_KINDS = frozenset(_TEXTS)
"""Kinds of values with a text form: not lists, maps, entities and paths."""


def text_of(item: Any) -> str | None:
    """The text form of a value; None if its kind has none."""
    text = _TEXTS.get(kind_of_value(item))
    return None if text is None else text(item)


@value(frozen=True, slots=True)
class _Type:
    """A type: its rank in Neo4j's order of types, and for lists the types of the elements."""

    place: int
    elements: tuple[_Type, ...] = ()
    nullable: bool = False


_KINDS = [
    "nothing",
    "null",
    "boolean",
    "string",
    "integer",
    "float",
    "date",
    "localtime",
    "time",
    "localdatetime",
    "datetime",
    "duration",
    "point",
    "node",
    "relationship",
    "map",
    "list",
    "path",
]
_WORDS = {
    "time": "ZONED TIME",
    "localtime": "LOCAL TIME",
    "datetime": "ZONED DATETIME",
    "localdatetime": "LOCAL DATETIME",
}
_NOTHING, _NULL, _LIST = (_KINDS.index(kind) for kind in ("nothing", "null", "list"))


def value_type(item: Any) -> str:
    """The type of a value, such as ``LIST<INTEGER | STRING NOT NULL> NOT NULL``."""
    return _text(_type_of(item))


def _type_of(item: Any) -> _Type:
    kind = kind_of_value(item)
    place = _KINDS.index(kind)
    if kind != "list":
        return _Type(place, (), kind == "null")
    return _Type(place, _elements(list(item)))


def _elements(items: list[Any]) -> tuple[_Type, ...]:
    found = {_type_of(item) for item in items}
    plain = [each for each in found if each.place != _NULL]
    if not plain:
        return (_Type(_NULL, (), True),) if found else (_Type(_NOTHING),)
    if len(plain) < len(found):
        plain = [_Type(each.place, each.elements, True) for each in plain]
    widest = [each for each in plain if not any(_is_below(each, other) for other in plain)]
    return tuple(sorted(widest, key=_order))


def _is_below(narrow: _Type, wide: _Type) -> bool:
    """True if all values of one type also have the other, different type."""
    return narrow != wide and _covers(wide, narrow)


def _covers(wide: _Type, narrow: _Type) -> bool:
    if narrow.place == _NOTHING:
        return True
    if narrow.nullable and not wide.nullable:
        return False
    if narrow.place == _NULL:
        return True
    if wide.place != narrow.place:
        return False
    return all(any(_covers(w, n) for w in wide.elements) for n in narrow.elements)


def _order(each: _Type) -> tuple[Any, ...]:
    return (each.place, tuple(map(_order, each.elements)), each.nullable)


def _text(each: _Type) -> str:
    kind = _KINDS[each.place]
    text = _WORDS.get(kind, kind.upper())
    if kind == "list":
        text = f"LIST<{' | '.join(map(_text, each.elements))}>"
    return text if each.nullable or kind == "nothing" else f"{text} NOT NULL"
