"""What the driver makes of property values, where it is not what a column can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["refuse_vectors"]

# Named, as drivers before 6.0 do not have these classes: they get UnsupportedType, or a map.
_NOT_HELD = frozenset({"Vector", "UnsupportedType"})


def refuse_vectors(key: str, values: Sequence[object]) -> None:
    """Refuses values of types that only newer servers have.

    Raises:
        SourceError: There is one.
    """
    for kind in set(map(type, values)):
        if kind.__name__ in _NOT_HELD and kind.__module__.partition(".")[0] == "neo4j":
            raise SourceError(
                f"The property {key!r} holds values of type {kind.__name__}, which cannot be put "
                "into columns: ask queries that use it with engine='native'."
            )
