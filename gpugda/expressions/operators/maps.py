"""Map projections: ``subject {.key, .*, key: value, name}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherExecutionError
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.operators.access import property_of
from gpugda.values import describe

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.expressions.context import Context

__all__ = ["projected"]

_MAPS = frozenset(("map", "node", "relationship"))


def projected(
    subject: Any, parts: Iterable[tuple[str | None, Any]], context: Context
) -> dict[str, Any] | None:
    """The map of a projection; null for null.

    Args:
        subject: A map, a node or a relationship.
        parts: Keys and values in written order; ``(key, ...)`` for ``.key``, ``(None, ...)`` for
            ``.*``. Later entries win.
        context: Reads entities.

    Raises:
        CypherTypeError: The subject has no properties.
        CypherExecutionError: It is no map or entity, and more than its properties is selected.
    """
    if subject is None:
        return None
    parts = list(parts)
    if kind_of_value(subject) not in _MAPS:
        keys = [key for key, item in parts if key is not None and item is ...]
        asked = {key: property_of(subject, key, context) for key in keys}
        if len(keys) == len(parts):
            return asked
    properties = _properties(subject, context)
    result: dict[str, Any] = {}
    for key, item in parts:
        if key is None:
            result.update(properties)
        else:
            result[key] = properties.get(key) if item is ... else item
    return result


def _properties(subject: Any, context: Context) -> dict[str, Any]:
    kind = kind_of_value(subject)
    if kind == "map":
        return dict(subject)
    if kind in ("node", "relationship") and context.entities is not None:
        return dict(context.entities.properties(subject))
    raise CypherExecutionError(
        f"{describe(subject)} is not a map, so its properties cannot be projected"
    )
