from __future__ import annotations

import datetime
import decimal
import enum
import math
from zoneinfo import ZoneInfo

import neo4j.time
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import (
    ColumnKind,
    column_from_arrow,
    column_from_values,
    concatenate,
    constant_null,
    to_values,
)
from gpugda.errors import SourceError

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])),
)
VALUES = st.one_of(PLAIN, st.lists(PLAIN, max_size=3))


def same(found, expected):
    assert repr(found) == repr(expected)  # distinguishes 1, 1.0 and True, and -0.0 from 0.0


@given(st.lists(VALUES, max_size=8))
def test_values_are_restored(values):
    same(to_values(column_from_values(values)), values)


@given(st.lists(st.lists(VALUES, max_size=4) | st.integers(0, 3), max_size=4))
def test_concatenation_keeps_all_values(pieces):
    # A number stands for a chunk without the property.
    columns = [None if isinstance(each, int) else column_from_values(each) for each in pieces]
    counts = [each if isinstance(each, int) else len(each) for each in pieces]
    expected = []
    for each in pieces:
        expected += [None] * each if isinstance(each, int) else each
    column = concatenate(columns, counts)
    same(to_values(column), expected)
    assert column.values.dtype == column_from_values(expected).values.dtype


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, None], ColumnKind.BOOLEAN),
        ([1, None], ColumnKind.INTEGER),
        ([1.0, None], ColumnKind.FLOAT),
        (["a", None], ColumnKind.STRING),
        ([1, 1.5], ColumnKind.OBJECT),
        ([True, 1], ColumnKind.OBJECT),
        ([[1]], ColumnKind.OBJECT),
        ([np.float32(1.5), 2.5], ColumnKind.FLOAT),
        ([np.int8(1), 2], ColumnKind.INTEGER),
        ([np.str_("a")], ColumnKind.STRING),
    ],
)
def test_the_kind_fits_all_values(values, kind):
    assert column_from_values(values).kind is kind


def test_nulls_of_a_column_keep_no_dictionary():
    column = constant_null(3)
    assert to_values(column) == [None] * 3
    assert to_values(column_from_values([None, None])) == [None, None]
    assert len(constant_null(0)) == 0


def test_rows_can_be_chosen():
    column = column_from_values(["a", None, "b"])
    assert to_values(column, np.array([2, 1])) == ["b", None]
    assert to_values(column, np.array([True, False, False])) == ["a"]


def test_subclasses_become_plain_python_values():
    class Colour(enum.StrEnum):
        RED = "red"

    class Level(enum.IntEnum):
        LOW = 1

    assert [type(each) for each in to_values(column_from_values([Colour.RED, Level.LOW]))] == [
        str,
        int,
    ]


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"a": 1}, "cannot be a map"),
        ({1}, "make it a list"),
        (b"x", "encode them as text"),
        (2**63, "64 bits"),
        ([-(2**63) - 1], "64 bits"),
        (object(), "convert it"),
        ("\ud800", "surrogate"),
        ([{"a": 1}], "cannot be a map"),
        (
            datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(seconds=1))),
            "minutes",
        ),
    ],
)
def test_values_that_cannot_be_properties_are_refused(value, part):
    with pytest.raises(SourceError, match=part):
        column_from_values([value])


# ------------------------------------------------------------------ temporal values
def test_python_times_become_those_of_neo4j():
    berlin = ZoneInfo("Europe/Berlin")
    values = [
        datetime.date(1, 1, 1),
        datetime.datetime(2024, 7, 1, 12, 0, 0, 5),
        datetime.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=0),
        datetime.datetime(2024, 10, 27, 2, 30, tzinfo=berlin, fold=1),
        datetime.time(1, 2, 3, 4),
        datetime.time(1, tzinfo=datetime.timezone(datetime.timedelta(hours=-2))),
        datetime.timedelta(days=-1, microseconds=7),
    ]
    found = to_values(column_from_values(values))
    assert [type(each).__module__ for each in found] == ["neo4j.time"] * len(values)
    assert [str(each) for each in found] == [
        "0001-01-01",
        "2024-07-01T12:00:00.000005000",
        "2024-10-27T02:30:00.000000000+02:00",
        "2024-10-27T02:30:00.000000000+01:00",
        "01:02:03.000004000",
        "01:00:00.000000000-02:00",
        "P-1DT0.000007S",
    ]
    assert found[2].tzinfo.zone == "Europe/Berlin"


def test_nanoseconds_of_arrow_and_pandas_are_kept():
    pandas = pytest.importorskip("pandas")
    stamp = pandas.Timestamp("2024-07-01T12:00:00.123456789", tz="Asia/Tokyo")
    expected = "2024-07-01T12:00:00.123456789+09:00"
    assert str(to_values(column_from_values([stamp]))[0]) == expected
    array = pa.array([stamp.value], type=pa.int64()).cast(pa.timestamp("ns", "Asia/Tokyo"))
    assert str(to_values(column_from_arrow(array))[0]) == expected
    assert to_values(column_from_values([pandas.NaT, pandas.NA, 1])) == [None, None, 1]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([0, None, 19_000], pa.date32()), ["1970-01-01", None, "2022-01-08"]),
        (pa.array([86_400_000], pa.date64()), ["1970-01-02"]),
        (pa.array([-1], pa.timestamp("s")), ["1969-12-31T23:59:59.000000000"]),
        (pa.array([0], pa.timestamp("ms", "+05:30")), ["1970-01-01T05:30:00.000000000+05:30"]),
        (pa.array([0], pa.timestamp("us", "UTC")), ["1970-01-01T00:00:00.000000000+00:00"]),
        (pa.array([61], pa.time32("s")), ["00:01:01.000000000"]),
        (pa.array([1], pa.time64("ns")), ["00:00:00.000000001"]),
        (pa.array([90_061], pa.duration("s")), ["P1DT1H1M1S"]),
    ],
)
def test_arrow_times_become_those_of_neo4j(array, expected):
    found = to_values(column_from_arrow(array))
    assert [None if each is None else str(each) for each in found] == expected


# ------------------------------------------------------------------ Arrow's types
@pytest.mark.parametrize(
    ("array", "kind", "expected"),
    [
        (pa.array([True, None]), ColumnKind.BOOLEAN, [True, None]),
        (pa.array([1, None], pa.int8()), ColumnKind.INTEGER, [1, None]),
        (pa.array([2**63 - 1], pa.uint64()), ColumnKind.INTEGER, [2**63 - 1]),
        (pa.array([2**53 + 1, None], pa.int64()), ColumnKind.INTEGER, [2**53 + 1, None]),
        (pa.array([0.5, None], pa.float32()), ColumnKind.FLOAT, [0.5, None]),
        (pa.array([0.5], pa.float16()), ColumnKind.FLOAT, [0.5]),
        (pa.array(["b", None, "a"]), ColumnKind.STRING, ["b", None, "a"]),
        (pa.array(["b"], pa.large_string()), ColumnKind.STRING, ["b"]),
        (pa.array(["b", None], pa.string_view()), ColumnKind.STRING, ["b", None]),
        (pa.array(["b", None, "b"]).dictionary_encode(), ColumnKind.STRING, ["b", None, "b"]),
        (pa.array([3, None]).dictionary_encode(), ColumnKind.INTEGER, [3, None]),
        (pa.nulls(2), ColumnKind.BOOLEAN, [None, None]),
        (pa.array([None, None], pa.string()), ColumnKind.BOOLEAN, [None, None]),
        (pa.array([[1, None], None, []]), ColumnKind.OBJECT, [[1, None], None, []]),
        (pa.array([["a"], ["b"]], pa.large_list(pa.string())), ColumnKind.OBJECT, [["a"], ["b"]]),
        (
            pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2)),
            ColumnKind.OBJECT,
            [[1, 2], None, [3, 4]],
        ),
        (
            pa.array([[1, 2], None, [3]], pa.list_view(pa.int8())),
            ColumnKind.OBJECT,
            [[1, 2], None, [3]],
        ),
        (pa.array([[1], [2, 3], [4]])[1:], ColumnKind.OBJECT, [[2, 3], [4]]),
        (pa.chunked_array([["b"], ["a", None]]), ColumnKind.STRING, ["b", "a", None]),
        (pa.chunked_array([], pa.int64()), ColumnKind.INTEGER, []),
    ],
)
def test_arrow_types_are_read(array, kind, expected):
    column = column_from_arrow(array)
    assert column.kind is kind
    same(to_values(column), expected)


def test_dictionaries_with_nulls_and_repeats_are_read():
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["x", None, "x"]))
    column = column_from_arrow(array)
    assert to_values(column) == ["x", None, "x", None]
    assert len(column.dictionary) == 1


def test_nan_is_a_value():
    column = column_from_arrow(pa.array([math.nan, None]))
    assert column.valid.tolist() == [True, False]
    assert math.isnan(column.values[0])


@pytest.mark.parametrize(
    ("array", "part"),
    [
        (pa.array([2**63], pa.uint64()), "64 bits"),
        (pa.array([decimal.Decimal("1.5")]), "decimal128"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array([b"a"]), "binary"),
        (pa.array([[{"a": 1}]]), "struct"),
        (pa.array([2**50], pa.timestamp("s")), "timestamp"),
        (pa.array([1], pa.timestamp("s", "Nowhere/Land")), "Nowhere/Land"),
        (pa.array([b"\xff"]).view(pa.string()), "UTF-8"),
        (pa.array([b"\xff"] * 100).view(pa.string()), "UTF-8"),
    ],
)
def test_arrow_types_that_cannot_be_properties_are_refused(array, part):
    with pytest.raises(SourceError, match=part):
        column_from_arrow(array)


def test_zones_of_zoneinfo_become_those_of_pytz():
    moment = neo4j.time.DateTime(2024, 10, 27, 2, 30, 0, 123456789)
    zoned = moment.replace(tzinfo=ZoneInfo("Europe/Berlin"))
    (found,) = to_values(column_from_values([zoned]))
    assert found.tzinfo.zone == "Europe/Berlin"
    assert found.iso_format() == "2024-10-27T02:30:00.123456789+02:00"
