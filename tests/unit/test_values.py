"""The rules for single values. Neo4j 5.26 gave every expected answer."""

from __future__ import annotations

import math
from datetime import UTC
from itertools import pairwise

import pytest
import pytz
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

from gpugda import values
from gpugda.text_order import StoredText
from gpugda.values import Entity

NAN = math.nan
BIG, NEAR = 2**53 + 1, 2.0**53
ONE_HOUR = pytz.FixedOffset(60)
BERLIN = pytz.timezone("Europe/Berlin")
STOCKHOLM = pytz.timezone("Europe/Stockholm")
NEW_YEAR_UTC = DateTime(2020, 1, 1, 0, tzinfo=pytz.UTC)
NEW_YEAR_Z = DateTime(2020, 1, 1, 0, tzinfo=UTC)
NEW_YEAR_OFFSET = DateTime(2020, 1, 1, 1, tzinfo=ONE_HOUR)
NEW_YEAR_BERLIN = BERLIN.localize(DateTime(2020, 1, 1, 1))
NEW_YEAR_STOCKHOLM = STOCKHOLM.localize(DateTime(2020, 1, 1, 1))
NODE, OTHER_NODE, RELATIONSHIP = Entity(True, 0), Entity(True, 1), Entity(False, 0)

# a, b, a = b, a < b, a <= b, a > b, a >= b
COMPARISONS = [
    (BIG, NEAR, False, False, False, True, True),
    (NEAR, BIG, False, True, True, False, False),
    (0.0, -0.0, True, False, False, True, True),
    (-0.0, 0.0, True, True, True, False, False),
    (0, -0.0, True, False, False, True, True),
    (-0.0, 0, True, True, True, False, False),
    (NAN, 1.0, False, False, False, False, False),
    (NAN, NAN, False, False, False, False, False),
    (NAN, "a", False, None, None, None, None),
    (None, 1, None, None, None, None, None),
    (True, False, False, False, False, True, True),
    (True, 1, False, None, None, None, None),
    ("a", 1, False, None, None, None, None),
    ("a", "b", False, True, True, False, False),
    ("a", "a\0", False, True, True, False, False),
    (StoredText("\uff5e"), StoredText("\U0001f600"), False, True, True, False, False),
    ([1], [1.0], True, False, True, False, True),
    ([1], ["a"], False, None, None, None, None),
    ([1, 2], [1, "a"], False, None, None, None, None),
    ([1, None], [1, 2], None, None, None, None, None),
    ([1, None], [2, None], False, True, True, False, False),
    ([None, 1], [None, 2], False, None, None, None, None),
    ([1], [1, None], False, True, True, False, False),
    ([1, None], [1], False, False, False, True, True),
    ([], [None], False, True, True, False, False),
    ([], [], True, False, True, False, True),
    ([0.0], [-0.0], True, False, False, True, True),
    ([NAN], [NAN], False, None, None, None, None),
    ([1], 1, False, None, None, None, None),
    ([1], [[1]], False, None, None, None, None),
    ({"a": 1}, {"a": 1.0}, True, False, True, False, True),
    ({"a": 1}, {"a": 2}, False, True, True, False, False),
    ({"a": None}, {"a": None}, None, None, None, None, None),
    ({"a": None}, {"b": 1}, False, True, True, False, False),
    ({"a": None, "b": 1}, {"a": None, "b": 2}, False, None, None, None, None),
    ({"b": 1}, {"a": 1, "b": 1}, False, True, True, False, False),
    ({"b": 1, "a": 2}, {"a": 1, "c": 1}, False, True, True, False, False),
    ({"a": 1, "b": None}, {"a": 2, "b": 1}, False, True, True, False, False),
    ({}, {}, True, False, True, False, True),
    (Date(2020, 1, 1), Date(2020, 1, 2), False, True, True, False, False),
    (Date(2020, 1, 1), DateTime(2020, 1, 1), False, None, None, None, None),
    (DateTime(2020, 1, 1), NEW_YEAR_UTC, False, None, None, None, None),
    (NEW_YEAR_OFFSET, NEW_YEAR_UTC, False, False, False, True, True),
    (NEW_YEAR_Z, NEW_YEAR_UTC, False, True, True, False, False),
    (NEW_YEAR_OFFSET, NEW_YEAR_BERLIN, False, True, True, False, False),
    (NEW_YEAR_BERLIN, NEW_YEAR_STOCKHOLM, False, True, True, False, False),
    (Time(1), Time(2), False, True, True, False, False),
    (Time(1), Time(1, tzinfo=pytz.UTC), False, None, None, None, None),
    (Time(1, tzinfo=ONE_HOUR), Time(0, tzinfo=pytz.UTC), False, False, False, True, True),
    (Duration(days=1), Duration(hours=24), False, None, None, None, None),
    (Duration(days=1), Duration(days=1), True, None, True, None, True),
    (Duration(days=1), 1, False, None, None, None, None),
    (CartesianPoint((1, 2)), CartesianPoint((1, 2)), True, None, True, None, True),
    (CartesianPoint((1, 2)), CartesianPoint((2, 3)), False, None, None, None, None),
    (CartesianPoint((1, 2)), WGS84Point((1, 2)), False, None, None, None, None),
    (NODE, NODE, True, False, True, False, True),
    (NODE, OTHER_NODE, False, True, True, False, False),
    (NODE, RELATIONSHIP, False, None, None, None, None),
    (NODE, 1, False, None, None, None, None),
]


@pytest.mark.parametrize(("a", "b", "equal", "less", "at_most", "greater", "at_least"), COMPARISONS)
def test_comparisons_are_neo4js(a, b, equal, less, at_most, greater, at_least):
    assert values.equals(a, b) is equal
    assert values.less(a, b) is less
    assert values.less(a, b, or_equal=True) is at_most
    assert values.greater(a, b) is greater
    assert values.greater(a, b, or_equal=True) is at_least


@pytest.mark.parametrize(
    ("item", "items", "expected"),
    [
        (None, [], False),
        (None, [1], None),
        (5, [1, 2], False),
        (1.0, [1, 2], True),
        (1, [None], None),
        (1, [1, None], True),
        (1, None, None),
        ([1], [[1]], True),
        ([None], [[None]], None),
        ([1, None], [[1, 2]], None),
        (NAN, [NAN], False),
        (BIG, [NEAR], False),
        (1, 1, True),
        (2, 1, False),
        ("bob", "bob", True),
        (None, 1, None),
        (2, ["2", None], None),
        (2, [], False),
    ],
)
def test_in_is_neo4js(item, items, expected):
    assert values.is_in(item, items) is expected


@pytest.mark.parametrize("value", [1, 1.5, "", "text", {"a": 1}, Date(2020, 1, 1)])
def test_a_value_that_is_no_condition_is_a_type_error(value):
    with pytest.raises(TypeError, match="Don't know how to treat that as a predicate"):
        values.truth_of(value)


def test_a_nonempty_list_is_true():
    assert [values.truth_of(value) for value in ([], [0], None, True, False)] == [
        False,
        True,
        None,
        True,
        False,
    ]


TRUTHS = (True, False, None)


def test_logic_has_three_values():
    assert [values.and_(a, b) for a in TRUTHS for b in TRUTHS] == [
        *(True, False, None),
        *(False, False, False),
        *(None, False, None),
    ]
    assert [values.or_(a, b) for a in TRUTHS for b in TRUTHS] == [
        *(True, True, True),
        *(True, False, None),
        *(True, None, None),
    ]
    assert [values.xor_(a, b) for a in TRUTHS for b in TRUTHS] == [
        *(False, True, None),
        *(True, False, None),
        *(None, None, None),
    ]
    assert [values.not_(a) for a in TRUTHS] == [False, True, None]


# Each tuple is one sorted column, ascending.
SORTED = [
    (
        {"a": 1},
        NODE,
        RELATIONSHIP,
        [1],
        CartesianPoint((1, 2)),
        NEW_YEAR_UTC,
        DateTime(2020, 1, 1),
        Date(2020, 1, 1),
        Time(1, tzinfo=pytz.UTC),
        Time(1),
        Duration(days=1),
        "a",
        True,
        1.5,
        NAN,
        None,
    ),
    ([], [[1]], ["a"], [True], [1], [1, 2], [1, None], [2], [NAN], [None]),
    (
        {},
        {"a": "x"},
        {"a": 0},
        {"a": 1},
        {"a": None},
        {"b": 0},
        {"c": 0},
        {"a": 1, "b": 1},
    ),
    (
        Duration(seconds=5, nanoseconds=3),
        Duration(hours=23),
        Duration(hours=24),
        Duration(days=1),
        Duration(days=30),
        Duration(seconds=2_629_746),
        Duration(months=1),
        Duration(seconds=2_629_747),
        Duration(days=31),
    ),
    (
        WGS84Point((1, 2)),
        WGS84Point((1, 2, 0)),
        CartesianPoint((-1, 1)),
        CartesianPoint((1, 1)),
        CartesianPoint((1, 2)),
        CartesianPoint((2, 1)),
        CartesianPoint((10, 1)),
        CartesianPoint((1, 2, 3)),
    ),
    (
        NEW_YEAR_Z,
        NEW_YEAR_UTC,
        NEW_YEAR_OFFSET,
        NEW_YEAR_BERLIN,
        DateTime(2020, 1, 1, 0, 0, 1, tzinfo=pytz.UTC),
    ),
    (
        Time(0, 30, tzinfo=ONE_HOUR),
        Time(0, tzinfo=pytz.UTC),
        Time(1, tzinfo=ONE_HOUR),
        Time(2, tzinfo=ONE_HOUR),
    ),
    ("", "B", "a", "aa", "b", "e", "é", *map(StoredText, "\ue000\uff5e\U0001f600")),
    (False, True, -math.inf, -1, -0.0, 0, 0.5, NEAR, BIG, math.inf, NAN, None),
    (2.0**63 - 1024, 2**63 - 2, 2**63 - 1, 2.0**63),
]


@pytest.mark.parametrize("column", SORTED)
def test_values_are_ordered_as_in_neo4j(column):
    keys = [values.order_key(value) for value in column]
    assert all(a < b for a, b in pairwise(keys))


def test_equal_numbers_have_the_same_order_key():
    assert values.order_key(1) == values.order_key(1.0)
    assert values.order_key(0) == values.order_key(0.0)


SAME = [
    (1, 1.0),
    (0.0, -0.0),
    (0, -0.0),
    (None, None),
    ([1, None], [1.0, None]),
    ([0.0], [-0.0]),
    ({"a": 1}, {"a": 1.0}),
    ({"a": None}, {"a": None}),
    (Duration(days=1), Duration(days=1)),
    (CartesianPoint((1, 2)), CartesianPoint((1, 2))),
    (2**53, NEAR),
]
DIFFERENT = [
    (True, 1),
    (1, "1"),
    (BIG, NEAR),
    (float("nan"), float("nan")),
    (Duration(days=1), Duration(hours=24)),
    (NEW_YEAR_UTC, NEW_YEAR_OFFSET),
    (NEW_YEAR_UTC, NEW_YEAR_Z),
    (Time(1, tzinfo=ONE_HOUR), Time(0, tzinfo=pytz.UTC)),
    (CartesianPoint((1, 2)), WGS84Point((1, 2))),
    ([1], 1),
    (NODE, RELATIONSHIP),
    ([], None),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_equal_values_share_a_group(a, b):
    assert values.group_key(a) == values.group_key(b)
    assert hash(values.group_key(a)) == hash(values.group_key(b))


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different_values_have_different_groups(a, b):
    assert values.group_key(a) != values.group_key(b)


def test_nan_is_grouped_with_itself():
    assert values.group_key(NAN) == values.group_key(NAN)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("bob", 'String("bob")'),
        (1, "Long(1)"),
        (1.5, "Double(1.500000e+00)"),
        (NAN, "Double(NaN)"),
        (True, "Boolean('true')"),
        (Date(2020, 1, 1), "2020-01-01"),
    ],
)
def test_values_are_described(value, text):
    assert values.describe(value) == text
