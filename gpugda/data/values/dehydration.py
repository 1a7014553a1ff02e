"""Python values as Cypher's, exactly as the neo4j driver sends them.

The driver's rules are narrower than Python's, and some differ from what a type suggests: a text
enumeration is its text, a ``numpy.datetime64`` of days is a local date-time, a ``pandas.Timedelta``
has seconds but no days, a DataFrame is a map of columns. What the driver does not send is refused,
so that no value means one thing here and another in Neo4j.
"""

from __future__ import annotations

import datetime
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.temporal import (
    datetime_from_ticks,
    is_of_pytz,
    neo4j_spatial,
    neo4j_time,
    own_zone,
    point_of,
    rezoned,
    temporal_from_native,
)
from gpugda.errors import SourceError
from gpugda.values import ByteArray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["dehydrated", "for_driver"]

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1
_LARGEST_DEPTH = 100  # comparing and printing values recurses, bounded by Python's stack
_FIRST_YEAR, _END_YEAR = np.datetime64(1 - 1970, "Y"), np.datetime64(10_000 - 1970, "Y")
_TICKS_PER_SECOND = 10**9
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})
_NATIVE = (datetime.datetime, datetime.date, datetime.time, datetime.timedelta)
_PLAIN_ARRAYS = "biuf"
"""Kinds of NumPy's arrays whose ``tolist`` gives the values that the driver sends."""


def dehydrated(value: Any) -> Any:
    """Returns a value of Cypher: plain Python or one of neo4j's temporal and spatial types.

    Raises:
        ValueError: The driver does not send such values.
    """
    try:
        return _dehydrated(value, 0)
    except (TypeError, ValueError, OverflowError, AttributeError, SourceError) as error:
        raise ValueError(str(error)) from error


def _dehydrated(value: Any, depth: int) -> Any:
    if depth > _LARGEST_DEPTH:
        raise ValueError(f"lists and maps are nested more than {_LARGEST_DEPTH} deep")
    kind = type(value)
    if value is None or kind in (bool, float):
        return value
    for base, convert in _BY_BASE:
        if isinstance(value, base):
            return convert(value, depth)
    for package, convert in _BY_PACKAGE:
        if _is_of(kind, package):
            return convert(value, depth)
    if kind is tuple:
        return _list(value, depth)
    if kind in _NATIVE:
        return temporal_from_native(value)
    raise ValueError(_refusal(kind))


def _is_of(kind: type, package: str) -> bool:
    return any(base.__module__.partition(".")[0] == package for base in kind.__mro__)


def _refusal(kind: type) -> str:
    return f"values of type {kind.__name__} are not Cypher values"


def for_driver(value: Any, depth: int = 0) -> Any:
    """Returns a parameter, or several in a list or dict, with zones that the driver survives.

    neo4j's classes pass themselves to the zone as if they were the standard library's: the zones of
    ``zoneinfo`` read beyond their memory then, which ends the process now and then, and those of
    ``datetime`` refuse a time of day. The zones of pytz are safe.
    """
    kind = type(value)
    if kind in _SCALARS or depth > _LARGEST_DEPTH:
        return value
    if kind in (list, tuple):
        if _SCALARS.issuperset(map(type, value)):
            return value
        items = kind([for_driver(item, depth + 1) for item in value])
        return items if any(map(operator.is_not, items, value)) else value
    if kind is dict:
        values = {key: for_driver(item, depth + 1) for key, item in value.items()}
        return values if any(map(operator.is_not, values.values(), value.values())) else value
    zone = getattr(value, "tzinfo", None)
    if not isinstance(zone, datetime.tzinfo) or is_of_pytz(zone) or _is_of(kind, "pandas"):
        return value
    try:
        return dehydrated(value)
    except ValueError:
        return value


# ------------------------------------------------------------------ Python's own
def _integer(value: int) -> int:
    if not _SMALLEST_INTEGER <= value <= _LARGEST_INTEGER:
        raise ValueError(f"the integer {value} does not fit 64 bits")
    return value


def _text(value: str) -> str:
    text = str.__str__(value)  # a subclass may print itself differently
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text has an unpaired surrogate: fix its encoding") from None
    return text


def _list(items: Iterable[Any], depth: int) -> list[Any]:
    return [_dehydrated(item, depth + 1) for item in items]


def _map(items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in items:
        if not isinstance(key, str):
            raise ValueError(f"map keys must be strings, not {key!r}")
        name = _text(key)
        if name in found:
            raise ValueError(f"the map has several values of {name!r}")
        found[name] = _dehydrated(value, depth + 1)
    return found


# ------------------------------------------------------------------ NumPy
def _of_numpy(value: np.generic, _: int) -> Any:
    if type(value) is np.datetime64:
        return _of_datetime64(value)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.floating):
        return float(value)
    if isinstance(value, np.str_):
        return _text(value)
    if isinstance(value, np.bytes_):
        return ByteArray(bytes(value))
    # To the driver timedelta64 is an integer, as among NumPy's classes; then it fails.
    if isinstance(value, np.integer) and value.dtype.kind != "m":
        return _integer(int(value))
    raise ValueError(_refusal(type(value)))


def _of_datetime64(value: np.datetime64) -> Any:
    if np.isnat(value):
        return None
    if not _FIRST_YEAR <= value.astype("datetime64[Y]") < _END_YEAR:
        raise ValueError(f"the year of {value} is not between 1 and 9999")
    seconds = int(value.astype("datetime64[s]").astype(np.int64))
    nanoseconds = int(value.astype("datetime64[ns]").astype(np.int64)) % _TICKS_PER_SECOND
    return datetime_from_ticks(seconds * _TICKS_PER_SECOND + nanoseconds)


def _of_array(value: np.ndarray[Any, Any], depth: int) -> list[Any]:
    if value.ndim == 0:
        raise ValueError("an array without dimensions is not a Cypher value: use its item()")
    number = value.dtype
    if type(value) is not np.ndarray or number.kind not in _PLAIN_ARRAYS or number.itemsize > 8:
        return _list(value, depth)
    if number.kind == "u" and value.size:
        _integer(int(value.max()))
    return value.tolist()  # type: ignore[no-any-return] # it has dimensions


# ------------------------------------------------------------------ pandas
def _of_pandas(value: Any, depth: int) -> Any:
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, pd.Series | pd.Categorical | pd.api.extensions.ExtensionArray):
        return _list(value, depth)
    if isinstance(value, pd.DataFrame):
        return _map(value.items(), depth)
    if type(value) is pd.Timedelta:
        return neo4j_time().Duration(nanoseconds=value.value)
    if type(value) is pd.Timestamp:
        offset = value.utcoffset()
        if value.tzinfo is None or offset is None:
            return datetime_from_ticks(value.value)
        return datetime_from_ticks(value.value, own_zone(value.tzinfo, offset))
    raise ValueError(_refusal(type(value)))


# ------------------------------------------------------------------ the driver's own
def _of_driver(value: Any, _: int) -> Any:
    time, spatial, kind = neo4j_time(), neo4j_spatial(), type(value)
    if kind in (time.Date, time.Duration):
        if value is time.ZeroDate:
            raise ValueError("there is no date 0000-00-00")
        return value
    if kind in (time.Time, time.DateTime):
        return rezoned(value)
    if kind in (spatial.CartesianPoint, spatial.WGS84Point):
        return value
    if kind is spatial.Point:
        x, y, z = (*value, None)[:3]
        return point_of(value.srid, x, y, z)
    raise ValueError(_refusal(kind))


# The driver sends subclasses of these, but no other subclasses; a named tuple is refused.
_BY_BASE: tuple[tuple[type, Callable[[Any, int], Any]], ...] = (
    (np.generic, _of_numpy),
    (float, lambda value, _: float.__float__(value)),
    (int, lambda value, _: _integer(int.__int__(value))),
    (str, lambda value, _: _text(value)),
    (list, _list),
    (bytes, lambda value, _: ByteArray(bytes(value))),
    (bytearray, lambda value, _: ByteArray(bytes(value))),
    (dict, lambda value, depth: _map(value.items(), depth)),
    (np.ndarray, _of_array),
)
_BY_PACKAGE: tuple[tuple[str, Callable[[Any, int], Any]], ...] = (
    ("neo4j", _of_driver),
    ("pandas", _of_pandas),
)
