"""Values of every kind that somebody may give as a parameter, by name."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import fractions
import types
import uuid
from typing import Any
from zoneinfo import ZoneInfo

import neo4j.time
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytz
from neo4j.spatial import CartesianPoint, Point, WGS84Point

__all__ = ["KINDS", "UNSENDABLE"]


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


class Who(str, enum.Enum):  # noqa: UP042 # the idiom whose str() is not its text
    ANN = "ann"


class Colour(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Real(float):
    def __float__(self) -> float:
        return 99.0


class Half(float, enum.Enum):
    HALF = 0.5


class Plain(enum.Enum):
    A = "a"


class Items(list):  # type: ignore[type-arg]
    pass


class Fields(dict):  # type: ignore[type-arg]
    pass


class Pair(tuple):  # type: ignore[type-arg]
    __slots__ = ()


Named = collections.namedtuple("Named", "a b")  # its values are the test's


@dataclasses.dataclass
class Record:
    a: int = 1


class OwnDate(dt.date):
    pass


class OwnDateTime(dt.datetime):
    pass


class OwnDelta(dt.timedelta):
    pass


class DriverDate(neo4j.time.Date):  # type: ignore[misc]
    pass


class DriverPoint(CartesianPoint):
    pass


BERLIN = pytz.timezone("Europe/Berlin")


def _point(srid: int, *coordinates: float) -> Point:
    point = Point(coordinates)
    point.srid = srid
    return point


def _series(values: list[Any], dtype: Any = None) -> Any:
    return pd.Series(values, dtype=dtype)


PYTHON = {
    "none": None,
    "bytes": b"a\xff",
    "no bytes": b"",
    "bytearray": bytearray(b"a"),
    "true": True,
    "int": 7,
    "smallest": -(2**63),
    "too large": 2**63,
    "float": 1.5,
    "nan": float("nan"),
    "infinity": float("inf"),
    "-0.0": -0.0,
    "str": "x",
    "surrogate": "\ud800",
    "subclass of str": Text("x"),
    "str, Enum": Who.ANN,
    "StrEnum": Colour.RED,
    "subclass of float": Real(1.5),
    "IntEnum": Level.LOW,
    "IntFlag": Flags.A | Flags.B,
    "float, Enum": Half.HALF,
    "Enum": Plain.A,
    "list": [1, "a", None],
    "subclass of list": Items([1, 2]),
    "dict": {"a": 1},
    "subclass of dict": Fields(a=1),
    "OrderedDict": collections.OrderedDict(a=1),
    "defaultdict": collections.defaultdict(int, a=1),
    "Counter": collections.Counter("ab"),
    "tuple": (1, 2),
    "subclass of tuple": Pair((1, 2)),
    "named tuple": Named(1, 2),
    "dataclass": Record(),
    "set": {1},
    "frozenset": frozenset([1]),
    "range": range(3),
    "deque": collections.deque([1]),
    "UserDict": collections.UserDict(a=1),
    "UserList": collections.UserList([1]),
    "UserString": collections.UserString("a"),
    "MappingProxyType": types.MappingProxyType({"a": 1}),
    "keys": {1: 2}.keys(),
    "Decimal": decimal.Decimal("1.5"),
    "Fraction": fractions.Fraction(1, 2),
    "complex": 1j,
    "UUID": uuid.UUID(int=1),
    "Ellipsis": ...,
    "class": int,
    "function": len,
    "memoryview": memoryview(b"a"),
    "key of int": {1: 2},
    "key of None": {None: 1},
    "key of a subclass": {Text("k"): 1},
    "key of str, Enum": {Who.ANN: 1},
    "key of NumPy": {np.str_("k"): 1},
}

TIMES = {
    "date": dt.date(2020, 1, 1),
    "datetime": dt.datetime(2020, 1, 1, 1, 2, 3, 4),
    "datetime, offset": dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    "datetime, UTC": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "datetime, microseconds in the offset": dt.datetime(
        2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1, microseconds=30))
    ),
    "datetime, pytz": BERLIN.localize(dt.datetime(2020, 7, 1)),
    "datetime, pytz's first offset": dt.datetime(2020, 7, 1, tzinfo=BERLIN),
    "datetime, pytz.UTC": dt.datetime(2020, 7, 1, tzinfo=pytz.UTC),
    "time": dt.time(1, 2, 3, 4),
    "time, pytz": dt.time(1, tzinfo=pytz.FixedOffset(60)),
    "timedelta": dt.timedelta(1, 2, 3),
    "negative timedelta": dt.timedelta(microseconds=-1),
    "subclass of date": OwnDate(2020, 1, 1),
    "subclass of datetime": OwnDateTime(2020, 1, 1),
    "subclass of timedelta": OwnDelta(1),
    "neo4j Date": neo4j.time.Date(2020, 1, 1),
    "neo4j DateTime": neo4j.time.DateTime(2020, 1, 1, 1, 2, 3, 4),
    "neo4j DateTime, pytz": BERLIN.localize(neo4j.time.DateTime(2020, 7, 1)),
    "neo4j DateTime, pytz's first offset": neo4j.time.DateTime(2020, 7, 1, tzinfo=BERLIN),
    "neo4j Time": neo4j.time.Time(1, 2, 3, 4),
    "neo4j Time, pytz": neo4j.time.Time(1, tzinfo=pytz.FixedOffset(60)),
    "neo4j Duration": neo4j.time.Duration(months=1, days=-2, seconds=3, nanoseconds=-4),
    "subclass of neo4j Date": DriverDate(2020, 1, 1),
    "WGS84Point": WGS84Point((1, 2)),
    "CartesianPoint": CartesianPoint((1, 2, 3)),
    "Point without srid": Point((1, 2)),
    "Point": _point(7203, 1, 2),
    "Point of three": _point(4979, 1, 2, 3),
    "subclass of CartesianPoint": DriverPoint((1, 2)),
}

NUMPY = {
    "bytes_": np.bytes_(b"a"),
    "array of bytes": np.array([b"a"]),
    "bool_": np.bool_(True),
    "int8": np.int8(-3),
    "uint8": np.uint8(200),
    "uint64": np.uint64(2**63),
    "float16": np.float16(1.5),
    "float32": np.float32(0.1),
    "float64": np.float64(1.5),
    "longdouble": np.longdouble(1.5),
    "complex64": np.complex64(1),
    "str_": np.str_("a"),
    "void": np.void(b"a"),
    "array, no dimension": np.array(3),
    "array of objects": np.array([None, 1, "a", Who.ANN], dtype=object),
    "array of int": np.array([1, 2]),
    "array of uint64": np.array([2**63], np.uint64),
    "array of two dimensions": np.array([[1, 2], [3, 4]]),
    "array of float16": np.array([0.1], np.float16),
    "array of float32": np.array([0.1], np.float32),
    "array of longdouble": np.array([1.5], np.longdouble),
    "array of complex": np.array([1j]),
    "array of str": np.array(["a", "b"]),
    "array of StringDType": np.array(["a"], dtype=np.dtypes.StringDType()),
    "array of bool": np.array([True, False]),
    "array of big-endian int": np.array([1], ">i4"),
    "structured array": np.array([(1, 2)], dtype=[("a", int), ("b", int)]),
    "record array": np.rec.array([(1, 2)], dtype=[("a", int), ("b", int)]),
    "masked array": np.ma.array([1, 2], mask=[0, 1]),
    "masked": np.ma.masked,
    "empty array": np.array([]),
    "array of datetime64[D]": np.array(["2020-01-01", "NaT"], "datetime64[D]"),
    "array of datetime64[ns]": np.array(["2020-01-01"], "datetime64[ns]"),
    "array of timedelta64": np.array([1, 2], "timedelta64[s]"),
    **{
        f"datetime64[{unit}]": np.datetime64("1969-12-31T23:59:59.123456789", unit)
        for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "10s", "ps", "as")
    },
    "datetime64, NaT": np.datetime64("NaT"),
    "datetime64 of year -1": np.datetime64("-0001"),
    "datetime64 of year 10000": np.datetime64("10000"),
    "datetime64[ms] of year 3000": np.datetime64("3000-01-01T00:00:00.5", "ms"),
    **{
        f"timedelta64[{unit}]": np.timedelta64(-7, unit)
        for unit in ("Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as")
    },
    "timedelta64, NaT": np.timedelta64("NaT"),
}

FRAMES = {
    "NA": pd.NA,
    "NaT": pd.NaT,
    "Timestamp": pd.Timestamp("2020-01-02T03:04:05.123456789"),
    "Timestamp, zone": pd.Timestamp("2020-07-02T03", tz="Europe/Berlin"),
    "Timestamp, pytz": pd.Timestamp("2020-07-02T03", tz=BERLIN),
    "Timestamp, offset": pd.Timestamp("2020-07-02T03+02:00"),
    "Timestamp, UTC": pd.Timestamp("2020-07-02T03Z"),
    "Timestamp of seconds": pd.Timestamp("2020-01-02").as_unit("s"),
    "Timestamp of year 3000": pd.Timestamp("3000-01-02").as_unit("s"),
    "Timedelta": pd.Timedelta("1D"),
    "Timedelta of nanoseconds": pd.Timedelta("1D 00:00:01.000000001"),
    "negative Timedelta": pd.Timedelta(-1, "ns"),
    "Timedelta of seconds": pd.Timedelta("1D").as_unit("s"),
    "Period": pd.Period("2020-01"),
    "Interval": pd.Interval(0, 1),
    "DateOffset": pd.DateOffset(1),
    "Series of int": _series([1, 2]),
    "Series of float": _series([1.5, None]),
    "Series of Int64": _series([1, None], "Int64"),
    "Series of str": _series(["a", None]),
    "Series of string": _series(["a", None], "string"),
    "Series of categories": _series(["a", None], "category"),
    "Series of datetime": pd.Series(pd.to_datetime(["2020-01-01", None])),
    "Series of zoned": pd.Series(pd.to_datetime(["2020-01-01"])).dt.tz_localize("Europe/Berlin"),
    "Series of Timedelta": pd.Series(pd.to_timedelta(["1D"])),
    "Series of objects": _series([Who.ANN, None, 1.5], object),
    "Series of boolean": _series([True, None], "boolean"),
    "Series of Arrow int": _series([1, None], "int64[pyarrow]"),
    "Series of Arrow date": _series([dt.date(2020, 1, 1)], "date32[pyarrow]"),
    "Series of Arrow list": _series([[1]], pd.ArrowDtype(pa.list_(pa.int64()))),
    "Series of Arrow duration": _series([pd.Timedelta("1D")], "duration[ns][pyarrow]"),
    "Series of Sparse": pd.Series(pd.arrays.SparseArray([0, 1])),
    "Series of Period": pd.Series(pd.period_range("2020", periods=1, freq="D")),
    "Index": pd.Index([1, 2]),
    "DatetimeIndex": pd.DatetimeIndex(["2020-01-01"]),
    "MultiIndex": pd.MultiIndex.from_tuples([(1, 2)]),
    "Categorical": pd.Categorical(["a", "b"]),
    "array of Int64": pd.array([1, None], dtype="Int64"),
    "array of datetime": pd.array(pd.to_datetime(["2020-01-01"])),
    "DataFrame": pd.DataFrame({"a": [1, 2], "b": ["x", None]}),
    "DataFrame of unnamed": pd.DataFrame([[1]]),
    "empty DataFrame": pd.DataFrame(),
    "Polars Series": pl.Series([1]),
    "Polars DataFrame": pl.DataFrame({"a": [1]}),
    "Arrow array": pa.array([1]),
    "Arrow scalar": pa.scalar(1),
    "Arrow table": pa.table({"a": [1]}),
}

KINDS: dict[str, Any] = {**PYTHON, **TIMES, **NUMPY, **FRAMES}
"""The driver sends each of these, or refuses it."""

UNSENDABLE: dict[str, Any] = {
    "offset with seconds": dt.datetime(
        2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1, seconds=30))
    ),
    "offset of more than 18 hours": dt.datetime(
        2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=18, minutes=1))
    ),
    "the same of pytz": neo4j.time.Time(1, 0, 0, tzinfo=pytz.FixedOffset(-1081)),
    "two values of a key": pd.DataFrame([[1, 2]], columns=["a", "a"]),
    "ZeroDate": neo4j.time.ZeroDate,
}
"""The driver sends these, but gpugda has no such values."""

ZONES: dict[str, tuple[Any, str]] = {
    "datetime": (
        dt.datetime(2020, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")),
        "2020-07-01T00:00:00.000000000+02:00",
    ),
    "the hour that occurs twice": (
        dt.datetime(2020, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
        "2020-10-25T02:30:00.000000000+01:00",
    ),
    "neo4j DateTime": (
        neo4j.time.DateTime(2020, 7, 1, 0, 0, 0, 7, tzinfo=ZoneInfo("Europe/Berlin")),
        "2020-07-01T00:00:00.000000007+02:00",
    ),
    "time": (
        dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "01:00:00.000000000+02:00",
    ),
    "neo4j Time": (
        neo4j.time.Time(1, 0, 0, 7, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        "01:00:00.000000007+02:00",
    ),
}
"""The driver crashes on these, or refuses them: value and what is meant."""
