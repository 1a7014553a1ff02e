"""Lists as Neo4j stores them in properties: flat, without nulls, with values of one type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary, encode_objects
from gpugda.errors import SourceError
from gpugda.values import kind_of

if TYPE_CHECKING:
    from gpugda.data.identifiers import Origin

__all__ = ["with_stored_lists"]


def with_stored_lists(column: Column, key: str, origin: Origin) -> Column:
    """A source's property column in which lists of integers and floats become lists of floats.

    Raises:
        SourceError: Neo4j cannot store a list, or would round an integer in it; names the row.
    """
    if column.kind is not ColumnKind.OBJECT or not isinstance(column.dictionary, ObjectDictionary):
        return column
    entries = column.dictionary.entries
    stored: list[Any] = []
    for code, entry in enumerate(entries):
        try:
            stored.append(_stored(entry) if isinstance(entry, list) else entry)
        except ValueError as error:
            rows = column.values == code
            if column.valid is not None:
                rows &= column.valid
            if not rows.any():  # an unused entry
                stored.append(entry)
                continue
            place = origin.place(int(np.argmax(rows)))
            raise SourceError(f"{place}, column {key!r}: {error}") from None
    if all(new is old for new, old in zip(stored, entries, strict=True)):
        return column
    # Lists that were distinct may be equal now.
    codes, dictionary = encode_objects(stored)
    return Column(column.kind, codes[column.values], column.valid, dictionary)


def _stored(items: list[Any]) -> list[Any]:
    kinds = {_kind(item) for item in items}
    if "null" in kinds:
        raise ValueError("a list with nulls cannot be a property: drop them or the list")
    if "list" in kinds:
        raise ValueError("a list of lists cannot be a property: spread it over several properties")
    if len(kinds) > 1:
        raise ValueError(
            f"a list cannot be a property where its values are of several types "
            f"({', '.join(sorted(kinds))}): make all of them one type, such as text"
        )
    if {type(item) for item in items} == {int, float}:
        return [_as_float(item) for item in items]
    return items


def _kind(item: Any) -> str:
    if item is None:
        return "null"
    return f"point of {item.srid}" if hasattr(item, "srid") else kind_of(item)


def _as_float(item: float) -> float:
    if isinstance(item, int) and int(float(item)) != item:
        raise ValueError(f"the integer {item} is in a list with floats and would be rounded")
    return float(item)
