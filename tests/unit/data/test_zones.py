"""The offset 0 and the zone UTC, which Neo4j distinguishes and its driver does not."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest
import pytz
from neo4j.time import DateTime

import gpugda
from gpugda.data.values.columns import (
    column_from_arrow,
    column_from_values,
    shown_values,
    to_values,
)
from gpugda.expressions.temporal.moments import value_of_moment
from gpugda.expressions.temporal.parsing import parse_moment
from gpugda.expressions.temporal.zones import parse_zone
from gpugda.snapshot.object_text import object_from_text, object_to_text
from gpugda.values import equals, group_key, less

MOMENT = datetime.datetime(2020, 6, 1, 10)
OFFSET = [
    MOMENT.replace(tzinfo=datetime.UTC),
    DateTime(2020, 6, 1, 10, tzinfo=datetime.UTC),
    pd.Timestamp(MOMENT, tz=datetime.UTC),
]
ZONE = [
    MOMENT.replace(tzinfo=pytz.utc),
    MOMENT.replace(tzinfo=ZoneInfo("UTC")),
    DateTime(2020, 6, 1, 10, tzinfo=pytz.utc),
    pd.Timestamp(MOMENT, tz=pytz.utc),
]


def test_zones_that_the_driver_distinguishes_stay_distinct():
    column = column_from_values([*OFFSET, *ZONE])
    assert column.values.tolist() == [0, 0, 0, 1, 1, 1, 1]
    plain, named = to_values(column)[0], to_values(column)[-1]
    assert equals(plain, named) is False
    assert (less(plain, named), less(named, plain)) == (True, False)
    assert group_key(plain) != group_key(named)


def test_zones_are_returned_as_by_the_driver():
    column = column_from_values([*OFFSET, *ZONE, [OFFSET[0], ZONE[0]], None, 1])
    shown = shown_values(column)
    assert shown[7:] == [[shown[0], shown[0]], None, 1]
    assert {id(each.tzinfo) for each in [*shown[:7], *shown[7]]} == {id(pytz.UTC)}


@pytest.mark.parametrize("value", [OFFSET[0], ZONE[0]])
def test_saved_zones_are_restored(value):
    (stored,) = to_values(column_from_values([value]))
    assert equals(object_from_text(object_to_text(stored)), stored) is True


def test_ambiguous_saved_zones_are_refused():
    text = '{"$":"DateTime","date":"2020-06-01","ticks":36000000000000,"offset":0,"zone":"UTC"}'
    with pytest.raises(ValueError, match="zone UTC"):
        object_from_text(text)


def test_texts_name_the_zones():
    def parse(text, zone):
        return value_of_moment(parse_moment("datetime", text, parse_zone(zone)))

    plain, named = parse("2020-06-01T10:00Z", "Z"), parse("2020-06-01T10:00[UTC]", "Z")
    assert equals(parse("2020-06-01T10:00", "Z"), plain) is True
    assert equals(parse("2020-06-01T10:00", "UTC"), named) is True
    assert equals(plain, named) is False


def test_arrow_columns_name_the_zones():
    def first(zone):
        return to_values(column_from_arrow(pa.array([0], pa.timestamp("us", zone))))[0]

    assert equals(first("+00:00"), first("UTC")) is False


@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.parametrize(("value", "others"), [(OFFSET[0], ZONE[0]), (ZONE[0], OFFSET[0])])
def test_a_pandas_column_keeps_the_zones_of_its_values(categorical, value, others):
    series = pd.Series([value]).astype("category") if categorical else pd.Series([value])
    with gpugda.connect(gpugda.graph(nodes=pd.DataFrame({"id": [1], "z": series}))) as opened:
        for given, count in ((value, 1), (others, 0)):
            found = opened.run(
                "MATCH (n) WHERE n.z = $p RETURN count(*) AS x", p=given, engine="reference"
            )
            assert found.single()["x"] == count
