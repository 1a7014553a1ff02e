"""Vectorised parsing of dates and datetimes in the common extended form of ISO 8601."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from gpugda.data.integer_sets import unique_values
from gpugda.expressions.temporal.building_columns import date_days
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND
from gpugda.expressions.temporal.rows import MomentRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["parsed_rows"]

_DIGITS: Final = "0000-00-00T00:00:00"
"""Longest form without fraction and offset; shorter forms are prefixes."""
_LENGTHS: Final = (10, 16, 19)
_MAX_LENGTH: Final = len("0000-00-00T00:00:00.000000000+00:00")

_Texts = Any
"""``uint8`` table with one row of bytes per text, all of one length."""


def parsed_rows(texts: pa.Array, kind: str, default: int) -> MomentRows | None:
    """``date(text)``, ``localdatetime(text)`` or ``datetime(text)`` for each text.

    None if a text has another form, a part is out of range, or offsets differ.

    Args:
        texts: ``string`` or ``large_string`` array without nulls.
        kind: Kind of the result.
        default: Offset in seconds of a datetime whose text has none.
    """
    offsets, data = _bytes_of(texts)
    lengths = np.diff(offsets)
    days = np.zeros(len(lengths), dtype=np.int64)
    nanos = np.zeros(len(lengths), dtype=np.int64)
    zones: set[int] = set()
    for length in unique_values(lengths).tolist():
        if not _LENGTHS[0] <= length <= _MAX_LENGTH:
            return None
        rows = np.flatnonzero(lengths == length)
        parts = _parts(_table(data, offsets, rows, length), kind, default)
        if parts is None:
            return None
        days[rows], nanos[rows] = parts[:2]
        zones.add(parts[2])
    if len(zones) != 1:
        return None
    if kind == "date":
        return MomentRows(days)
    return MomentRows(days, nanos, zones.pop() if kind == "datetime" else None)


def _table(
    data: NDArray[np.uint8], offsets: NDArray[np.int64], rows: NDArray[np.int64], length: int
) -> _Texts:
    """The bytes of texts of one length, one row per text."""
    if len(rows) == len(offsets) - 1:
        return data[offsets[0] : offsets[-1]].reshape(len(rows), length)
    table = np.empty((len(rows), length), dtype=np.uint8)
    for place in range(length):
        table[:, place] = data[offsets[:-1][rows] + place]
    return table


def _bytes_of(texts: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    dtype = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, dtype, len(texts) + 1, texts.offset * np.dtype(dtype).itemsize)
    return places.astype(np.int64), np.frombuffer(data or b"", np.uint8)


def _parts(
    table: _Texts, kind: str, default: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], int] | None:
    """Days, nanoseconds of the day, and the offset of texts of one length."""
    end = _end_of_digits(table.shape[1], table[0])
    if kind == "date" and table.shape[1] != _LENGTHS[0]:
        return None
    if end is None or not _has_form(table[:, :end], _DIGITS[:end]):
        return None
    rest = table[:, end:]
    offset = default
    if kind == "datetime":
        found = _zone(rest)
        if found is None:
            return None
        rest, offset = found[0], default if found[1] is None else found[1]
    nanos = _time(table, end, rest)
    days = date_days(_number(table, 0, 4), _number(table, 5, 7), _number(table, 8, 10))
    return None if days is None or nanos is None else (days, nanos, offset)


def _end_of_digits(length: int, first: NDArray[np.uint8]) -> int | None:
    """Where the fraction or the offset starts, judged by the first text."""
    for end in reversed(_LENGTHS):
        if length == end or (length > end and chr(first[end]) in ".+-Zz"):
            return end
    return None


def _has_form(table: _Texts, form: str) -> bool:
    for place, wanted in enumerate(form):
        column = table[:, place]
        holds = _are_digits(column) if wanted == "0" else column == ord(wanted)
        if not bool(holds.all()):
            return False
    return True


def _are_digits(column: _Texts) -> Any:
    return (column >= ord("0")) & (column <= ord("9"))


def _number(table: _Texts, first: int, last: int) -> NDArray[np.int64]:
    found = np.zeros(len(table), dtype=np.int64)
    for place in range(first, last):
        found = found * 10 + (table[:, place] - ord("0"))
    return found


def _time(table: _Texts, end: int, fraction: _Texts) -> NDArray[np.int64] | None:
    if end == _LENGTHS[0]:
        return np.zeros(len(table), dtype=np.int64) if not fraction.shape[1] else None
    hour, minute = _number(table, 11, 13), _number(table, 14, 16)
    second = _number(table, 17, 19) if end == _LENGTHS[2] else np.zeros_like(hour)
    if (hour > 23).any() or (minute > 59).any() or (second > 59).any():
        return None
    nanos = (hour * 3600 + minute * 60 + second) * NANOS_PER_SECOND
    digits = fraction.shape[1] - 1
    if digits < 0:
        return nanos
    if end != _LENGTHS[2] or not 1 <= digits <= 9 or not _has_form(fraction, "." + "0" * digits):
        return None
    nanos += _number(fraction, 1, digits + 1) * np.int64(10 ** (9 - digits))
    return nanos


def _zone(rest: _Texts) -> tuple[_Texts, int | None] | None:
    """The part before the offset, and the offset; None if the texts' offsets differ."""
    length = rest.shape[1]
    for size in (1, 6):
        if length < size or chr(rest[0, length - size]) not in ("Zz" if size == 1 else "+-"):
            continue
        zone = rest[:, length - size :]
        if not bool((zone == zone[0]).all()):
            return None
        seconds = 0 if size == 1 else _offset(zone[:1])
        return None if seconds is None else (rest[:, : length - size], seconds)
    return rest, None


def _offset(zone: _Texts) -> int | None:
    if not _has_form(zone[:, 1:], "00:00"):
        return None
    hours, minutes = int(_number(zone, 1, 3)[0]), int(_number(zone, 4, 6)[0])
    if minutes > 59 or hours * 60 + minutes > 18 * 60:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if chr(zone[0, 0]) == "-" else 1)
