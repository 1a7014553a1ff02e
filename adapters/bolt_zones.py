"""What the driver does not tell of times: the zone ``UTC`` is no offset, and offsets have seconds.

For the zone ``UTC`` and the offset ``Z`` it returns one value, and it cuts offsets to minutes.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary, encode_objects, merge_objects
from gpugda.data.values.temporal import at_offset_zero, neo4j_time, zone_name
from gpugda.ports import UnkeptPropertyError

from .bolt_pages import Pace, cut
from .bolt_reading import PageReader, Question

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import neo4j
    from numpy.typing import NDArray

    from .bolt_pages import Page

__all__ = ["in_unknown_zone", "resolve_zones"]

_Named = dict[int, Any]
"""By entity id, which of its values are in the zone: True, or a list of booleans."""


def resolve_zones(
    reader: PageReader, pattern: str, ids: NDArray[np.int64], columns: Mapping[str, Column]
) -> dict[str, Column]:
    """The columns, with the offset 0 where a time is not in the zone ``UTC``.

    The server is asked only about columns with such times.

    Args:
        reader: Asks the server, at the state of the columns.
        pattern: Cypher pattern of the nodes or relationships ``x``.
        ids: Ids of the rows, increasing.
        columns: By key, with values as the driver returns them.

    Raises:
        SourceError: The server cannot be reached, or refuses.
        UnkeptPropertyError: A time has an offset with seconds.
    """
    return {key: _resolved(reader, pattern, ids, key, column) for key, column in columns.items()}


def in_unknown_zone(value: Any) -> bool:
    """True if a value of the driver has a time whose zone only the server knows."""
    return any(is_such(value) or _holds(is_such, value) for is_such in (_is_utc, _has_offset))


def _resolved(
    reader: PageReader, pattern: str, ids: NDArray[np.int64], key: str, column: Column
) -> Column:
    dictionary = column.dictionary
    if column.kind is not ColumnKind.OBJECT or not isinstance(dictionary, ObjectDictionary):
        return column
    entries = dictionary.entries.tolist()

    def asked(is_such: Callable[[Any], bool], *questions: str) -> _Named | None:
        single = np.array([is_such(entry) for entry in entries], dtype=np.bool_)
        listed = np.array([_holds(is_such, entry) for entry in entries], dtype=np.bool_)
        if not single.any() and not listed.any():
            return None
        found: _Named = {}
        for wanted, text in zip((single, listed), questions, strict=True):
            rows = _rows_of(column, wanted)
            found |= _ask(reader, Question(pattern, "x", text, _decode), ids[rows])
        return found

    if asked(_has_offset, *_questions(key, "{}.offsetSeconds % 60 <> 0")):
        message = f"The property {key!r}: offsets from UTC with seconds cannot be kept here"
        raise UnkeptPropertyError(key, message)
    named = asked(_is_utc, *_questions(key, "{}.timezone = 'UTC'"))
    if named is None:
        return column
    plain = [_at_offset(entry) for entry in entries]
    rows = np.searchsorted(ids, np.array(sorted(named), dtype=np.int64))
    special = [
        _mixed(entries[code], plain[code], named[number])
        for code, number in zip(column.values[rows].tolist(), sorted(named), strict=True)
    ]
    return _replaced(column, ObjectDictionary(plain), rows, special)


def _questions(key: str, test: str) -> tuple[str, str]:
    """The ids of rows whose value, or values in a list, pass a test."""
    value = f"x.`{key.replace('`', '``')}`"
    return (
        f"WITH x WHERE {test.format(value)} RETURN collect(id(x)) AS ids, collect(true) AS named",
        f"WITH x, [value IN {value} | {test.format('value')}] AS zones WHERE true IN zones "
        "RETURN collect(id(x)) AS ids, collect(zones) AS named",
    )


def _ask(reader: PageReader, question: Question[_Named], ids: NDArray[np.int64]) -> _Named:
    found: _Named = {}
    if len(ids):
        pace = Pace()
        pages = cut(ids, pace, exact=True)  # other entities' values may have no .timezone
        with closing(reader.answers(question, pages, pace)) as answers:
            for answer in answers:
                found |= answer
    return found


def _decode(_page: Page, records: list[neo4j.Record]) -> _Named:
    (record,) = records
    return dict(zip(record["ids"], record["named"], strict=True))


def _replaced(
    column: Column, plain: ObjectDictionary, rows: NDArray[np.int64], special: list[Any]
) -> Column:
    """The column with another dictionary, and other values in some rows."""
    codes, own = encode_objects(special)
    merged, (of_plain, of_own) = merge_objects([plain, own])
    values = of_plain[column.values]
    if len(rows):
        values[rows] = of_own[codes]
    return Column(column.kind, values, column.valid, merged)


def _rows_of(column: Column, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    found = wanted[column.values]
    return np.flatnonzero(found if column.valid is None else found & column.valid)


def _is_utc(value: Any) -> bool:
    return isinstance(value, neo4j_time().DateTime) and zone_name(value.tzinfo) == "UTC"


def _has_offset(value: Any) -> bool:
    """True for a time at an offset, 0 among them, to which the driver cuts ``+00:00:30``."""
    kinds = (neo4j_time().DateTime, neo4j_time().Time)
    return (
        isinstance(value, kinds)
        and value.tzinfo is not None
        and value.tzinfo.utcoffset(None) is not None
    )


def _holds(is_such: Callable[[Any], bool], value: Any) -> bool:
    return isinstance(value, list) and any(map(is_such, value))


def _at_offset(value: Any) -> Any:
    if isinstance(value, list):
        return [_at_offset(item) for item in value]
    return at_offset_zero(value) if _is_utc(value) else value


def _mixed(named: Any, plain: Any, is_named: Any) -> Any:
    """The values in the zone as they are, the others at their offset."""
    if is_named is True:
        return named
    return [a if is_in else b for a, b, is_in in zip(named, plain, is_named, strict=True)]
