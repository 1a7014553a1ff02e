"""Rejects property values of the driver that a column cannot hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse_vectors"]

# By name, as drivers before 6.0 lack these classes: they return UnsupportedType, or a map.
_NOT_HELD = frozenset({"Vector", "UnsupportedType"})


def refuse_vectors(key: str, values: Sequence[object]) -> None:
    """Rejects values of types that only newer servers have.

    Raises:
        SourceError: There is one.
    """
    for kind in set(map(type, values)):
        if kind.__name__ in _NOT_HELD and kind.__module__.partition(".")[0] == "neo4j":
            raise SourceError(
                f"The property {key!r} holds values of type {kind.__name__}, which cannot be put "
                "into columns: ask queries that use it with engine='native'."
            )
