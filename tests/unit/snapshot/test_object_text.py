from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import column_from_values, to_values
from gpugda.data.values.dictionaries import encode_objects
from gpugda.snapshot.object_text import object_from_text, object_to_text

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text()
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=8)


def returned(value):
    return object_from_text(object_to_text(value))


@given(VALUES)
def test_plain_values_and_lists_are_restored_exactly(value):
    # repr distinguishes 1, 1.0 and True, -0.0 and 0.0, and NaN has one text.
    assert repr(returned(value)) == repr(value)


ZONES = st.sampled_from(["Europe/Berlin", "America/St_Johns", "UTC", "Asia/Kathmandu"])
MOMENTS = st.datetimes(datetime.datetime(1, 1, 3), datetime.datetime(9999, 12, 29))
OFFSETS = st.integers(-18 * 60, 18 * 60).map(
    lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes))
)


@given(
    st.one_of(
        st.dates(),
        MOMENTS,
        st.datetimes(
            datetime.datetime(1950, 1, 1),
            datetime.datetime(2037, 1, 1),
            timezones=ZONES.map(ZoneInfo),
        ),
        st.builds(lambda moment, zone: moment.replace(tzinfo=zone), MOMENTS, OFFSETS),
        st.times(),
        st.builds(lambda time, zone: time.replace(tzinfo=zone), st.times(), OFFSETS),
        st.timedeltas(),
    )
)
def test_temporal_values_are_restored_exactly(native):
    (value,) = to_values(column_from_values([native]))
    found = returned(value)
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    codes, _ = encode_objects([value, found])
    assert codes.tolist() == [0, 0]


def test_nanoseconds_months_and_points_are_restored_exactly():
    time = pytest.importorskip("neo4j.time")
    from neo4j.spatial import CartesianPoint, WGS84Point

    values = [
        time.DateTime(2024, 1, 1, 0, 0, 0, 999_999_999),
        time.Time(23, 59, 59, 1),
        time.Duration(months=-14, days=3, seconds=-5, nanoseconds=-7),
        CartesianPoint((1.5, -0.0)),
        CartesianPoint((1.0, 2.0, float("inf"))),
        WGS84Point((12.5, 56.25)),
        WGS84Point((1.0, 2.0, 3.0)),
    ]
    for value in [*values, values]:
        found = returned(value)
        assert type(found) is type(value)
        assert repr(found) == repr(value)
    assert [returned(point).srid for point in values[3:]] == [7203, 9157, 4326, 4979]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[",
        '{"$": "Secret"}',
        "{}",
        '{"$": "Date", "value": 7}',
        '{"$": "Date", "days": "7"}',
        '{"$": "Date", "days": 999999999999}',
        '{"$": "Duration", "parts": []}',
        '{"$": "DateTime", "date": "2020-01-01", "ticks": 0, "zone": "Nowhere", "offset": 0}',
    ],
)
def test_malformed_texts_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        object_from_text(text)
