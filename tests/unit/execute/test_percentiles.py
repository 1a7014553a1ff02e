"""Percentiles and running means of all groups together, against single values."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.device.devices import list_devices
from gpugda.execute.aggregation import means, percentiles
from gpugda.execute.aggregation.aggregates import aggregate
from gpugda.execute.aggregation.grouping import Groups, group_rows
from gpugda.expressions.functions import find_aggregate
from gpugda.expressions.operands import Constant, value_at

LONGS = st.one_of(st.integers(-9, 9), st.sampled_from([2**63 - 1, -(2**63), 2**53 + 1, 2**53]))
FLOATS = st.one_of(
    st.floats(width=64), st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.7e308])
)
NUMBERS = st.one_of(
    st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), LONGS))),
    st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), FLOATS))),
    st.lists(st.tuples(st.integers(0, 4), FLOATS)),
    st.lists(st.tuples(st.just(0), FLOATS)),
)


def bits(value):
    """A form in which -0.0 differs from 0.0 and 1 from 1.0, and NaN equals itself."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else repr(value)


def of_rows(rows):
    """A column of numbers, and their groups."""
    values = [value for _, value in rows]
    known = [value for value in values if value is not None]
    kind = ColumnKind.FLOAT if any(isinstance(v, float) for v in known) else ColumnKind.INTEGER
    dtype = np.float64 if kind is ColumnKind.FLOAT else np.int64
    array = np.array([0 if value is None else value for value in values], dtype=dtype)
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    column = Column(kind, array, None if valid.all() else valid)
    owners = Column(ColumnKind.INTEGER, np.array([group for group, _ in rows], dtype=np.int64))
    return column, group_rows([owners], len(rows))


def by_values(name, rows, groups, *further):
    """The function's result for each group's values."""
    lists = [[] for _ in groups.first]
    for (_, value), group in zip(rows, groups.group_of.tolist(), strict=True):
        if value is not None:
            lists[group].append(value)
    return [bits(find_aggregate(name).fold(each, *further)) for each in lists]


def by_columns(name, column, groups, *further):
    more = [Constant(each) for each in further]
    made = aggregate(name, column, more, groups, len(column), distinct=False)
    return [bits(value_at(made, row)) for row in range(len(groups.first))]


@given(
    rows=NUMBERS,
    share=st.one_of(st.floats(0, 1), st.sampled_from([0, 1, 0.5, 0.25, 1 / 3])),
    name=st.sampled_from(["percentilecont", "percentiledisc"]),
    few=st.sampled_from([0, 1000]),
)
@example(rows=[(0, 0.0), (0, -0.0)], share=0, name="percentiledisc", few=1000)
@example(rows=[(0, 1.0), (0, 1.0), (0, math.nan)], share=0.25, name="percentilecont", few=1000)
def test_percentiles_equal_the_references(rows, share, name, few):
    column, groups = of_rows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(percentiles, "_FEW_GROUPS", few)
        found = by_columns(name, column, groups, share)
    assert found == by_values(name, rows, groups, share)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0, 0.001, 0.3, 0.5, 0.999, 1])
@pytest.mark.parametrize("name", ["percentilecont", "percentiledisc"])
def test_percentiles_of_many_rows_equal_the_references(name, share):
    random = np.random.default_rng(2)
    for numbers in (random.normal(size=200_000), random.integers(0, 50, 200_000)):
        kind = ColumnKind.FLOAT if numbers.dtype.kind == "f" else ColumnKind.INTEGER
        column = Column(kind, numbers)
        groups = group_rows([], len(column))
        rows = [(0, value) for value in numbers.tolist()]
        assert by_columns(name, column, groups, share) == by_values(name, rows, groups, share)


@pytest.mark.device
@given(rows=NUMBERS, name=st.sampled_from(["avg", "stdev", "stdevp", "sum"]))
@example(rows=[(0, math.inf), (0, 1.0), (0, -math.inf)], name="avg")
@example(rows=[(0, 1.0), (1, math.inf), (1, 2.0)], name="avg")
def test_the_kernel_rounds_each_step(rows, name):
    """To the last bit, with infinities, NaN, zeros and integers beyond 2^53."""
    if not any(device.type == "cpu" for device in list_devices()):
        pytest.skip("no OpenCL device that is a CPU")
    column, groups = of_rows(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(means, "_DEVICE_ROWS", 1)
        found = by_columns(name, column, groups)
    try:
        expected = by_values(name, rows, groups)
    except OverflowError:
        return
    assert found == expected


def test_means_are_the_same_without_a_device(monkeypatch):
    random = np.random.default_rng(3)
    rows = list(zip(random.integers(0, 3, 500).tolist(), random.normal(size=500), strict=True))
    column, groups = of_rows(rows)
    monkeypatch.setattr(means, "_DEVICE_ROWS", 1)
    with_device = {name: by_columns(name, column, groups) for name in ("avg", "stdev", "stdevp")}
    monkeypatch.setattr(means, "host_device", lambda: None)
    for name, found in with_device.items():
        assert by_columns(name, column, groups) == found


def test_a_group_without_rows_has_no_percentile():
    groups = Groups(np.array([0, 1]), np.array([0, 1, 1]))
    column = Column(ColumnKind.INTEGER, np.array([5, 1, 2]), np.array([False, True, True]))
    assert by_columns("percentiledisc", column, groups, 0.5) == ["None", "1"]
