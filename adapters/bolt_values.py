"""Columns of property values as the driver reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.data.values.columns import column_from_values
from gpugda.errors import SourceError
from gpugda.ports import UnkeptPropertyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.values.columns import Column

__all__ = ["column_of"]

# By name, as drivers before 6.0 lack these classes: they return UnsupportedType, or a map.
_NOT_HELD = frozenset({"Vector", "UnsupportedType"})


def column_of(key: str, values: Sequence[object]) -> Column:
    """The column of a property.

    Raises:
        UnkeptPropertyError: A value is of a type, or in a zone, that a column cannot hold.
    """
    for kind in set(map(type, values)):
        if kind.__name__ in _NOT_HELD and kind.__module__.partition(".")[0] == "neo4j":
            raise UnkeptPropertyError(
                key,
                f"The property {key!r} holds values of type {kind.__name__}, which cannot be put "
                "into columns: ask queries that use it with engine='native'.",
            )
    try:
        return column_from_values(values)
    except SourceError as error:
        raise UnkeptPropertyError(key, f"The property {key!r}: {error}") from error
