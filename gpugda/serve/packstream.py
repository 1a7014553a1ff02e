"""PackStream, the binary format of Bolt's values: from bytes to Python, and from Python to bytes.

Reading trusts nothing: a size is compared with the bytes that are there before anything is
allocated, and nesting is bounded.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from struct import Struct, error
from typing import TYPE_CHECKING, Any

from gpugda.data.values import temporal
from gpugda.errors import SourceError
from gpugda.values import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "NULL",
    "PackStreamError",
    "Packer",
    "Structure",
    "list_header",
    "map_header",
    "pack_text",
    "unpack",
]

NULL = b"\xc0"
_EPOCH = 719_163  # ordinal of 1970-01-01
_SECOND = 10**9
_DAY = 86_400 * _SECOND
_MOST_NESTED = 120

_INT8, _INT16, _INT32, _INT64 = Struct(">b"), Struct(">h"), Struct(">i"), Struct(">q")
_FLOAT = Struct(">d")
_MARKED_INT8, _MARKED_INT16 = Struct(">Bb"), Struct(">Bh")
_MARKED_INT32, _MARKED_INT64, _MARKED_FLOAT = Struct(">Bi"), Struct(">Bq"), Struct(">Bd")


class PackStreamError(Exception):
    """The bytes are not PackStream."""


@dataclass(frozen=True, slots=True)
class Structure:
    """A structure: its tag and its fields. No tuple, which as a parameter would be a list."""

    tag: int
    fields: tuple[Any, ...]


# ------------------------------------------------------------------ from bytes
def unpack(data: bytes) -> Any:
    """The one value in these bytes.

    Temporal and spatial structures become values of the neo4j driver. A structure that has no such
    value, such as a year beyond 9999, stays a `Structure`.

    Raises:
        PackStreamError: The bytes are not exactly one value.
    """
    reader = _Reader(data)
    try:
        value = reader.value(0)
    except (error, IndexError) as fault:
        raise PackStreamError("a value ends too early") from fault
    if reader.place != len(data):
        raise PackStreamError(f"{len(data) - reader.place} bytes follow the value")
    return value


class _Reader:
    """Reads values from a buffer.

    Args:
        data: The buffer.

    Attributes:
        place: Position of the next byte.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.place = 0

    def value(self, depth: int) -> Any:
        marker = self._data[self.place]
        self.place += 1
        if marker < 0x80:
            return marker
        if marker >= 0xF0:
            return marker - 0x100
        if marker < 0xC0:
            return self._small(marker, depth)
        read = _READERS.get(marker)
        if read is None:
            raise PackStreamError(f"there is no marker {marker:02X}")
        return read(self, depth)

    def _small(self, marker: int, depth: int) -> Any:
        size = marker & 0x0F
        if marker < 0x90:
            return self._text(size)
        if marker < 0xA0:
            return self._list(size, depth)
        if marker < 0xB0:
            return self._map(size, depth)
        self._check(size + 1, depth)
        tag = self._data[self.place]
        self.place += 1
        fields = tuple([self.value(depth + 1) for _ in range(size)])
        return _value_of(tag, fields)

    def _number(self, form: Struct) -> Any:
        (value,) = form.unpack_from(self._data, self.place)
        self.place += form.size
        return value

    def _size(self, width: int) -> int:
        self._check(width, 0)
        size = int.from_bytes(self._data[self.place : self.place + width], "big")
        self.place += width
        return size

    def _bytes(self, size: int) -> bytes:
        self._check(size, 0)
        found = self._data[self.place : self.place + size]
        self.place += size
        return found

    def _text(self, size: int) -> str:
        try:
            return self._bytes(size).decode()
        except UnicodeDecodeError as fault:
            raise PackStreamError("a text is not UTF-8") from fault

    def _list(self, size: int, depth: int) -> list[Any]:
        self._check(size, depth)
        return [self.value(depth + 1) for _ in range(size)]

    def _map(self, size: int, depth: int) -> dict[str, Any]:
        self._check(2 * size, depth)
        found: dict[str, Any] = {}
        for _ in range(size):
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise PackStreamError("a key of a map is not a text")
            found[key] = self.value(depth + 1)
        return found

    def _check(self, size: int, depth: int) -> None:
        """Refuses more than is there: each item takes at least one byte."""
        if size > len(self._data) - self.place:
            raise PackStreamError("a size exceeds the message")
        if depth > _MOST_NESTED:
            raise PackStreamError(f"values are nested more than {_MOST_NESTED} deep")


_READERS: dict[int, Callable[[_Reader, int], Any]] = {
    0xC0: lambda reader, depth: None,
    0xC1: lambda reader, depth: reader._number(_FLOAT),
    0xC2: lambda reader, depth: False,
    0xC3: lambda reader, depth: True,
    0xC8: lambda reader, depth: reader._number(_INT8),
    0xC9: lambda reader, depth: reader._number(_INT16),
    0xCA: lambda reader, depth: reader._number(_INT32),
    0xCB: lambda reader, depth: reader._number(_INT64),
    0xCC: lambda reader, depth: reader._bytes(reader._size(1)),
    0xCD: lambda reader, depth: reader._bytes(reader._size(2)),
    0xCE: lambda reader, depth: reader._bytes(reader._size(4)),
    0xD0: lambda reader, depth: reader._text(reader._size(1)),
    0xD1: lambda reader, depth: reader._text(reader._size(2)),
    0xD2: lambda reader, depth: reader._text(reader._size(4)),
    0xD4: lambda reader, depth: reader._list(reader._size(1), depth),
    0xD5: lambda reader, depth: reader._list(reader._size(2), depth),
    0xD6: lambda reader, depth: reader._list(reader._size(4), depth),
    0xD8: lambda reader, depth: reader._map(reader._size(1), depth),
    0xD9: lambda reader, depth: reader._map(reader._size(2), depth),
    0xDA: lambda reader, depth: reader._map(reader._size(4), depth),
}


def _value_of(tag: int, fields: tuple[Any, ...]) -> Any:
    make = _VALUES.get(tag)
    if make is None:
        return Structure(tag, fields)
    try:
        return make(*fields)
    except (TypeError, ValueError, OverflowError, SourceError):
        return Structure(tag, fields)


def _offset(seconds: int) -> Any:
    return temporal.zone_from_offset(datetime.timedelta(seconds=seconds))


def _time(nanoseconds: int, offset: int) -> Any:
    return temporal.time_from_ticks(nanoseconds).replace(tzinfo=_offset(offset))


def _in_local_zone(seconds: int, nanoseconds: int, zone: str) -> Any:
    return temporal.zone_from_name(zone).localize(
        temporal.datetime_from_ticks(seconds * _SECOND + nanoseconds)
    )


_VALUES: dict[int, Callable[..., Any]] = {
    ord("D"): temporal.date_from_days,
    ord("t"): temporal.time_from_ticks,
    ord("T"): _time,
    ord("d"): lambda seconds, rest: temporal.datetime_from_ticks(seconds * _SECOND + rest),
    ord("I"): lambda seconds, rest, offset: temporal.datetime_from_ticks(
        seconds * _SECOND + rest, _offset(offset)
    ),
    ord("F"): lambda seconds, rest, offset: temporal.datetime_from_ticks(
        (seconds - offset) * _SECOND + rest, _offset(offset)
    ),
    ord("i"): lambda seconds, rest, zone: temporal.datetime_from_ticks(
        seconds * _SECOND + rest, temporal.zone_from_name(zone)
    ),
    ord("f"): _in_local_zone,
    ord("E"): lambda months, days, seconds, rest: temporal.neo4j_time().Duration(
        months=months, days=days, seconds=seconds, nanoseconds=rest
    ),
    ord("X"): lambda srid, x, y: temporal.point_of(srid, x, y, None),
    ord("Y"): lambda srid, x, y, z: temporal.point_of(srid, x, y, z),
}


# ------------------------------------------------------------------ to bytes
def _header(size: int, small: int, wide: tuple[int, int, int]) -> bytes:
    if size < 0x10 and small:
        return bytes((small | size,))
    if size < 0x100:
        return bytes((wide[0], size))
    if size < 0x10000:
        return bytes((wide[1],)) + size.to_bytes(2, "big")
    return bytes((wide[2],)) + size.to_bytes(4, "big")


def list_header(size: int) -> bytes:
    """The bytes before the items of a list."""
    return _header(size, 0x90, (0xD4, 0xD5, 0xD6))


def map_header(size: int) -> bytes:
    """The bytes before the entries of a map."""
    return _header(size, 0xA0, (0xD8, 0xD9, 0xDA))


def pack_text(text: str) -> bytes:
    """A text; like Java, it writes a question mark for half of a surrogate pair."""
    data = text.encode("utf-8", "replace")
    return _header(len(data), 0x80, (0xD0, 0xD1, 0xD2)) + data


def _pack_integer(value: int) -> bytes:
    if -0x10 <= value < 0x80:
        return bytes((value & 0xFF,))
    if -0x80 <= value < 0x80:
        return _MARKED_INT8.pack(0xC8, value)
    if -0x8000 <= value < 0x8000:
        return _MARKED_INT16.pack(0xC9, value)
    if -0x80000000 <= value < 0x80000000:
        return _MARKED_INT32.pack(0xCA, value)
    return _MARKED_INT64.pack(0xCB, value)


class Packer:
    """Packs any value of Cypher, and the messages that hold them.

    Args:
        utc: True if times with a zone are written as instants (Bolt 5, or the patch ``utc`` of
            4.4), False for local times.
        entity: Packs a ``values.Entity`` or ``values.Path``.
    """

    def __init__(self, *, utc: bool = True, entity: Callable[[Any], bytes] | None = None) -> None:
        self._utc = utc
        self._entity = entity

    def message(self, tag: int, *fields: Any) -> bytes:
        """A message."""
        return bytes((0xB0 | len(fields), tag)) + b"".join(map(self.pack, fields))

    def pack(self, value: Any) -> bytes:
        """Any value."""
        if value is None:
            return NULL
        if value is True:
            return b"\xc3"
        if value is False:
            return b"\xc2"
        pack = _PACKERS.get(type(value))
        return self._other(value) if pack is None else pack(self, value)

    def _list(self, values: Any) -> bytes:
        return list_header(len(values)) + b"".join(map(self.pack, values))

    def _map(self, values: Mapping[str, Any]) -> bytes:
        parts = [map_header(len(values))]
        for key, value in values.items():
            parts += (pack_text(key), self.pack(value))
        return b"".join(parts)

    def _other(self, value: Any) -> bytes:
        for kind, pack in _PACKERS.items():
            if isinstance(value, kind):
                return pack(self, value)
        kind_name = kind_of(value)
        if kind_name in ("node", "relationship", "path"):
            assert self._entity is not None
            return self._entity(value)
        return _STRUCTURES[kind_name](self, value)

    # -------------------------------------------------------------- temporal and spatial values
    def _structure(self, tag: str, *numbers: Any) -> bytes:
        return bytes((0xB0 | len(numbers), ord(tag))) + b"".join(map(self.pack, numbers))

    def _date(self, value: Any) -> bytes:
        return self._structure("D", value.to_ordinal() - _EPOCH)

    def _local_time(self, value: Any) -> bytes:
        return self._structure("t", value.ticks)

    def _time(self, value: Any) -> bytes:
        return self._structure("T", value.ticks, _seconds_of(value.utcoffset()))

    def _local_datetime(self, value: Any) -> bytes:
        return self._structure("d", *_moment(value))

    def _datetime(self, value: Any) -> bytes:
        seconds, rest = _moment(value)
        offset = _seconds_of(value.utcoffset())
        name = temporal.zone_name(value.tzinfo)
        shown = seconds - offset if self._utc else seconds
        if name is None:
            return self._structure("I" if self._utc else "F", shown, rest, offset)
        return self._structure("i" if self._utc else "f", shown, rest, name)

    def _duration(self, value: Any) -> bytes:
        return self._structure("E", *value)

    def _point(self, value: Any) -> bytes:
        return self._structure("X" if len(value) == 2 else "Y", value.srid, *map(float, value))


_PACKERS: dict[type, Callable[[Packer, Any], bytes]] = {
    str: lambda packer, value: pack_text(value),
    int: lambda packer, value: _pack_integer(value),
    float: lambda packer, value: _MARKED_FLOAT.pack(0xC1, value),
    list: Packer._list,
    dict: Packer._map,
    bytes: lambda packer, value: _header(len(value), 0, (0xCC, 0xCD, 0xCE)) + value,
}
_STRUCTURES: dict[str, Callable[[Packer, Any], bytes]] = {
    "date": Packer._date,
    "localtime": Packer._local_time,
    "time": Packer._time,
    "localdatetime": Packer._local_datetime,
    "datetime": Packer._datetime,
    "duration": Packer._duration,
    "point": Packer._point,
}


def _seconds_of(offset: datetime.timedelta) -> int:
    return offset.days * 86_400 + offset.seconds


def _moment(value: Any) -> tuple[int, int]:
    """Seconds and nanoseconds from 1970 of the clock's time, whatever the zone."""
    ticks: int = (value.date().to_ordinal() - _EPOCH) * _DAY + value.time().ticks
    return divmod(ticks, _SECOND)
