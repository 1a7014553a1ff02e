"""Text form of values, as ``toString()`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.expressions.kinds import TEMPORAL, kind_of_value
from gpugda.expressions.numbers import float_text
from gpugda.expressions.spatial import crs_name
from gpugda.expressions.temporal.printing import duration_text, moment_text

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PRINTED_KINDS", "text_of"]


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
