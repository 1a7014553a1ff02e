from __future__ import annotations

import math

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from neo4j.spatial import CartesianPoint
from neo4j.time import Date, DateTime, Duration, Time

from gpugda.data.values.columns import Column, ColumnKind, column_from_values
from gpugda.errors import ConfigurationError
from gpugda.values import Entity

ANN, BOB, NOBODY = (Entity(True, index) for index in range(3))


def test_numbers_are_not_copied(result_of_columns):
    values = np.arange(5, dtype=np.int64)
    table = result_of_columns(n=Column(ColumnKind.INTEGER, values)).to_arrow()
    assert table["n"].type == pa.int64()
    assert table["n"].chunk(0).buffers()[1].address == values.ctypes.data


def test_scalars_keep_their_nulls(result_of):
    rows = [[True, 1, 1.5, "x"], [None, None, None, None], [False, -3, math.nan, ""]]
    table = result_of(["b", "i", "f", "s"], rows).to_arrow()
    assert table.schema.types == [pa.bool_(), pa.int64(), pa.float64(), pa.large_string()]
    assert table["b"].to_pylist() == [True, None, False]
    assert table["i"].to_pylist() == [1, None, -3]
    assert table["s"].to_pylist() == ["x", None, ""]
    assert table["f"].null_count == 1
    assert math.isnan(table["f"][2].as_py())


def test_a_column_of_nulls_has_the_null_type(result_of):
    table = result_of(["x"], [[None], [None]]).to_arrow()
    assert table["x"].to_pylist() == [None, None]


def test_texts_can_stay_coded(result_of):
    table = result_of(["s"], [["b"], ["a"], [None]]).to_arrow(dictionary_strings=True)
    assert pa.types.is_dictionary(table["s"].type)
    assert table["s"].to_pylist() == ["b", "a", None]


def test_a_table_holds_only_unread_rows(result_of):
    result = result_of(["n"], [[1], [None], [3]])
    next(result)
    assert result.to_arrow()["n"].to_pylist() == [None, 3]
    assert result.to_arrow().num_rows == 0


def test_nodes_are_structs(result_of):
    table = result_of(["n"], [[BOB], [ANN], [None], [BOB], [NOBODY]]).to_arrow()
    bob = {
        "element_id": "n1",
        "labels": ["Person"],
        "properties": {"name": 'Bob "B"', "tags": None},
    }
    found = table["n"].to_pylist()
    assert found[0] == found[3] == bob
    assert found[1]["properties"]["tags"] == ["x", "y"]
    assert found[2] is None
    assert found[4]["labels"] == []


def test_relationships_are_structs(result_of):
    table = result_of(["r"], [[Entity(False, 2)], [Entity(False, 0)]]).to_arrow()
    assert table["r"].to_pylist() == [
        {
            "element_id": "r2",
            "type": "LIKES",
            "start": "n1",
            "end": "n1",
            "properties": {"since": None},
        },
        {
            "element_id": "r0",
            "type": "KNOWS",
            "start": "n0",
            "end": "n1",
            "properties": {"since": 2001},
        },
    ]


@pytest.mark.parametrize(("form", "expected"), [("index", [1, None]), ("id", ["n1", None])])
def test_nodes_are_ids_on_request(result_of, form, expected):
    assert result_of(["n"], [[BOB], [None]]).to_arrow(nodes=form)["n"].to_pylist() == expected


@pytest.mark.parametrize("form", ["struct", "id", "index"])
@pytest.mark.parametrize(
    "column",
    [
        Column(ColumnKind.NODE, np.array([0, 1], dtype=np.uint32), np.array([False, False])),
        Column(ColumnKind.RELATIONSHIP, np.zeros(0, dtype=np.uint32)),
        column_from_values([None, None]),
        column_from_values([1, None]).take(np.array([1])),
        column_from_values(["a", None]).take(np.array([1])),
        column_from_values([1, "a", None]).take(np.array([2])),
    ],
)
def test_a_column_without_a_value_is_null(result_of_columns, form, column):
    table = result_of_columns(n=column).to_arrow(nodes=form)
    assert table.schema.field("n").type == pa.null()
    assert table.num_rows == len(column)


def test_an_unknown_form_is_refused(result_of):
    with pytest.raises(ConfigurationError, match="'struct', 'index', 'id'"):
        result_of(["n"], [[1]]).to_arrow(nodes="text")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([[1, 2], None, []], pa.large_list(pa.int64()), [[1, 2], None, []]),
        ([[["a"]], [[None]]], None, [[["a"]], [[None]]]),
        ([Date(2020, 2, 29), Date(1969, 12, 31)], pa.date32(), None),
        ([Time(1, 2, 3, 4)], pa.time64("ns"), None),
        ([DateTime(1969, 12, 31, 23, 59, 59, 999_999_999)], pa.timestamp("ns"), None),
        ([DateTime(9999, 1, 1)], pa.timestamp("us"), None),
    ],
)
def test_objects_are_written(result_of, values, kind, expected):
    column = result_of(["x"], [[value] for value in values]).to_arrow()["x"]
    assert kind is None or column.type == kind
    if expected is not None:
        assert column.to_pylist() == expected
    elif pa.types.is_date32(column.type):
        assert column.to_pylist() == [value.to_native() for value in values]
    elif pa.types.is_time(column.type):
        assert column.chunk(0).view(pa.int64()).to_pylist() == [values[0].ticks]
    elif column.type.unit == "ns":
        assert column.chunk(0).view(pa.int64()).to_pylist() == [-1]
    else:
        assert column.to_pylist()[0].year == 9999


def test_zoned_datetimes_are_in_utc(result_of):
    zoned = DateTime.from_iso_format("2020-01-01T01:00:00.000000005+01:00")
    column = result_of(["x"], [[zoned]]).to_arrow()["x"]
    assert column.type == pa.timestamp("ns", "UTC")
    assert column.chunk(0).view(pa.int64()).to_pylist() == [1_577_836_800_000_000_005]


def test_durations_and_points_are_structs(result_of):
    rows = [[Duration(months=1, days=-2, seconds=3, nanoseconds=4), CartesianPoint((1.0, 2.0))]]
    (row,) = result_of(["d", "p"], rows).to_arrow().to_pylist()
    assert row["d"] == {"months": 1, "days": -2, "seconds": 3, "nanoseconds": 4}
    assert row["p"] == {"srid": 7203, "x": 1.0, "y": 2.0, "z": None}


def test_mixed_values_become_marked_text(result_of):
    table = result_of(["x"], [[1], ["a"], [None], [[1.5]]]).to_arrow()
    assert table["x"].to_pylist() == ["1", '"a"', None, "[1.5]"]
    assert b"gpugda.mixed" in table.schema.field("x").metadata


def test_integers_beside_floats_stay_exact(result_of):
    assert result_of(["x"], [[1], [1.5]]).to_arrow()["x"].to_pylist() == [1.0, 1.5]
    inexact = result_of(["x"], [[2**53 + 1], [1.5]]).to_arrow()
    assert inexact["x"].to_pylist() == ["9007199254740993", "1.5"]


def test_a_result_becomes_a_polars_frame(result_of):
    frame = result_of(["n", "x"], [[ANN, 1], [None, None]]).to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame["n"].struct.field("element_id").to_list() == ["n0", None]
    assert frame["x"].to_list() == [1, None]


def test_column_slices_keep_their_nulls(result_of_columns):
    result = result_of_columns(n=column_from_values([None, 1, None, 2, None, 3, None, 4, None, 5]))
    result.fetch(3)
    assert result.to_arrow()["n"].to_pylist() == [2, None, 3, None, 4, None, 5]
