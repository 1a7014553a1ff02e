"""Access to parts of values: ``subject.key``, ``subject[index]``, ``subject[start..end]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherExecutionError, CypherTypeError
from gpugda.expressions import spatial
from gpugda.expressions.checks import whole
from gpugda.expressions.kinds import TEMPORAL, kind_of_value
from gpugda.expressions.temporal.components import component
from gpugda.values import describe

if TYPE_CHECKING:
    from gpugda.expressions.context import Context

__all__ = ["property_of", "slice_of", "subscript"]

_LARGEST_INDEX = 2**31 - 1


def property_of(subject: Any, key: str, context: Context) -> Any:
    """``subject.key``; null if a map or an entity has no such key.

    Raises:
        CypherTypeError: The subject has no properties, or a temporal value lacks this one.
        CypherArgumentError: A point has no such coordinate.
    """
    if subject is None:
        return None
    kind = kind_of_value(subject)
    if kind == "map":
        return subject.get(key)
    if kind in ("node", "relationship") and context.entities is not None:
        return context.entities.properties(subject).get(key)
    if kind in TEMPORAL or kind == "duration":
        return component(subject, key)
    if kind == "point":
        return spatial.component(subject, key)
    raise CypherTypeError(f"{describe(subject)} has no property {key}")


def subscript(subject: Any, index: Any, context: Context) -> Any:
    """``subject[index]``: an element of a list, or a property by name.

    Raises:
        CypherTypeError: The subject has no parts, or the index is of a wrong type.
    """
    if subject is None or index is None:
        return None
    if kind_of_value(subject) == "list":
        if kind_of_value(index) != "integer":
            raise CypherTypeError(f"a list is indexed by an integer, not {describe(index)}")
        return subject[index] if -len(subject) <= index < len(subject) else None
    if not isinstance(index, str):
        raise CypherTypeError(f"{describe(subject)} has no part {describe(index)}")
    return property_of(subject, index, context)


def slice_of(subject: Any, start: Any = ..., end: Any = ...) -> Any:
    """``subject[start..end]``; an omitted bound is ``...``.

    A value that is no list counts as a list of itself.

    Raises:
        CypherTypeError: A bound is no number.
        CypherExecutionError: A bound exceeds 32 bits.
    """
    if subject is None or start is None or end is None:
        return None
    items = list(subject) if kind_of_value(subject) == "list" else [subject]
    return items[_bound(start) : _bound(end)]


def _bound(given: Any) -> int | None:
    if given is ...:
        return None
    place = whole("a slice", given)
    if abs(place) > _LARGEST_INDEX:
        raise CypherExecutionError(f"a slice bound cannot be {place}")
    return place
