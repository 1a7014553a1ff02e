"""Group aggregates on columns, against the same functions value by value."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.device import host_device
from gpugda.errors import QueryError
from gpugda.execute.aggregation import aggregates, means, sums
from gpugda.execute.aggregation.aggregates import aggregate
from gpugda.execute.aggregation.grouping import Groups
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.functions import find_aggregate
from gpugda.expressions.operands import value_at

NAMES = ["count", "sum", "avg", "min", "max", "collect", "stdev", "stdevp"]
INTEGERS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats(allow_nan=True, width=64)
VALUES = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-5, 5))),
    st.lists(st.one_of(st.none(), INTEGERS)),
    st.lists(st.one_of(st.none(), FLOATS)),
    st.lists(st.one_of(st.none(), st.text(max_size=3))),
    st.lists(st.one_of(st.none(), st.booleans())),
    st.lists(st.one_of(st.none(), st.integers(-3, 3), st.floats(-2, 2), st.lists(st.integers()))),
)


def same(found, expected):
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-12) or (
            math.isnan(found) and math.isnan(expected)
        )
    if isinstance(expected, list):
        return (
            isinstance(found, list)
            and len(found) == len(expected)
            and all(map(same, found, expected))
        )
    return type(found) is type(expected) and found == expected


def outcome(function):
    try:
        return function()
    except QueryError as error:
        return type(error).__name__


@given(values=VALUES, seed=st.integers(0, 99), distinct=st.booleans(), name=st.sampled_from(NAMES))
@example(values=[2.0**63], seed=0, distinct=False, name="min")
def test_column_aggregates_equal_those_value_by_value(values, seed, distinct, name):
    count = len(values)
    group_of = np.random.default_rng(seed).integers(0, 3, count)
    used, first, group_of = np.unique(group_of, return_index=True, return_inverse=True)
    groups = Groups(first.astype(np.int64), group_of.reshape(-1).astype(np.int64))
    function = find_aggregate(name)

    def by_values():
        items = [
            [v for v, g in zip(values, group_of, strict=True) if g == n] for n in range(len(used))
        ]
        return [function.fold(each, distinct=distinct) for each in items]

    def by_columns():
        made = aggregate(name, column_of(values), (), groups, count, distinct=distinct)
        return [value_at(made, row) for row in range(len(used))]

    found, expected = outcome(by_columns), outcome(by_values)
    if isinstance(expected, str) or isinstance(found, str):
        assert found == expected
        return
    assert all(map(same, found, expected)), (found, expected)


@pytest.mark.parametrize("name", ["percentilecont", "percentiledisc"])
def test_percentiles_take_a_column_of_shares(name):
    groups = Groups(np.array([0]), np.zeros(4, dtype=np.int64))
    share = column_of([0.5] * 4)
    made = aggregate(name, column_of([4, 1, 3, 2]), (share,), groups, 4, distinct=False)
    assert value_at(made, 0) == find_aggregate(name).fold([4, 1, 3, 2], 0.5)


@given(
    items=st.lists(st.tuples(st.integers(0, 60), st.floats(-1e6, 1e6))),
    few=st.sampled_from([0, 2, 32]),
)
def test_means_have_the_rounding_of_a_running_mean(items, few):
    """To the last bit, however many groups are processed together."""
    groups = 61
    values = [[value for group, value in items if group == each] for each in range(groups)]
    flat = np.array([value for each in values for value in each])
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in values]))).astype(np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(means, "_FEW", few)
        found = means.running_means(flat, offsets)
    expected = [find_aggregate("avg").fold(each) or 0.0 for each in values]
    assert found.tolist() == expected


def test_a_mean_that_may_overflow_is_computed_value_by_value():
    for value in (math.inf, math.nan, -1.7e308):
        assert means.running_means(np.array([1.0, value]), np.array([0, 2])) is None


@pytest.mark.parametrize("name", ["sum", "min", "max"])
@pytest.mark.parametrize(
    "values",
    [
        [1.5, math.nan, -2.0],
        [math.nan, math.nan],
        [0.0, -0.0, -1.0],
        [-0.0, 0.0, 1.0],
        [math.inf, 1.0, -math.inf],
        [2**62, 2**62, -5],
        [-(2**63), 1],
        [-(2**63), -1],
        [3, -7, 4],
    ],
    ids=str,
)
def test_all_rows_may_be_one_group(name, values):
    one = Groups(np.zeros(1, dtype=np.int64), np.zeros(len(values), dtype=np.int64))
    expected = outcome(lambda: find_aggregate(name).fold(values))
    operand = column_of(values)

    def run():
        found = aggregate(name, operand, (), one, len(values), distinct=False)
        return value_at(found, 0)

    assert repr(outcome(run)) == repr(expected)


def test_many_floats_are_added_in_the_order_of_rows(monkeypatch):
    values = np.random.default_rng(1).normal(size=300_000)
    one = Groups(np.zeros(1, dtype=np.int64), np.zeros(len(values), dtype=np.int64))
    operand = Column(ColumnKind.FLOAT, values)
    expected = 0.0
    for item in values.tolist():
        expected += item
    for _ in range(2):
        found = aggregate("sum", operand, (), one, len(values), distinct=False)
        assert value_at(found, 0) == expected
        monkeypatch.setattr(host_device, "host_device", lambda: None)


@given(data=st.data(), window=st.sampled_from([4, 64]))
def test_sums_of_floats_or_null_are_added_in_the_order_of_rows(data, window):
    """Bit by bit; null's bits may be any number, even NaN."""
    numbers = st.one_of(st.floats(), st.sampled_from([-0.0, 0.1, 1e300, math.inf]))
    rows = data.draw(st.lists(st.tuples(st.integers(0, 3), numbers, st.booleans()), max_size=40))
    group_of = np.array([row[0] for row in rows], dtype=np.int64)
    used, first, group_of = np.unique(group_of, return_index=True, return_inverse=True)
    groups = Groups(first.astype(np.int64), group_of.reshape(-1).astype(np.int64))
    raw = np.array([row[1] for row in rows], dtype=np.float64)
    valid = np.array([row[2] for row in rows], dtype=np.bool_)
    column = Column(ColumnKind.FLOAT, raw, valid)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(sums, "_CACHED", window)
        found = sums.sum_of_known_floats(column, groups)
        whole = aggregate("sum", column, (), groups, len(rows), distinct=False)
    expected = [0.0] * len(used)
    for group, number, known in zip(groups.group_of.tolist(), raw.tolist(), valid, strict=True):
        expected[group] += number if known else 0.0
    some = [bool(valid[groups.group_of == group].any()) for group in range(len(used))]
    if found is None:
        assert len(used) in (0, 1) or not all(some) or len(used) > window // 4
    else:
        assert all(some)
        assert list(map(repr, found.values.tolist())) == list(map(repr, expected))
    for group, known in enumerate(some):
        shown = repr(value_at(whole, group))
        assert shown == (repr(expected[group]) if known else "0")


def test_sums_of_floats_or_null_do_not_search_known_rows(monkeypatch):
    random = np.random.default_rng(1)
    group_of = np.concatenate([np.arange(100), random.integers(0, 100, 50_000)])
    groups = Groups(np.arange(100), group_of)
    raw = random.normal(size=len(group_of))
    valid = random.random(len(group_of)) < 0.9
    expected = np.bincount(group_of[valid], weights=raw[valid])
    monkeypatch.setattr(aggregates, "_with_values", None)
    column = Column(ColumnKind.FLOAT, raw, valid)
    found = aggregate("sum", column, (), groups, len(group_of), distinct=False)
    assert found.values.tobytes() == expected.tobytes()
