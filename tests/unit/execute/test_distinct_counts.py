"""Number of distinct values per group, against sets of the values' keys."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.aggregation import row_codes
from gpugda.execute.aggregation.aggregates import aggregate
from gpugda.execute.aggregation.grouping import Groups, group_rows
from gpugda.expressions.computed_columns import column_of
from gpugda.values import group_key

VALUES = [
    st.one_of(st.none(), st.integers(-3, 3)),
    st.sampled_from([-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 2**62, -1, 0]),
    st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, 1.5]),
    st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä"])),
    st.one_of(st.none(), st.booleans()),
    st.sampled_from([None, 1, 1.0, "1", True, [1], [1.0], 2**53 + 1, 2.0**53]),
]
LIMITS = {
    "as they are": {},
    "sorted": {"_TABLE_ROWS": 0, "_SMALL_TABLE": 0},
    "short codes": {"LARGEST_CODE": 1000},
}


def distinct_counts(column, group_of, groups):
    all_groups = Groups(np.arange(groups), group_of)
    found = aggregate("count", column, (), all_groups, len(column), distinct=True)
    assert found.values.dtype == np.int64
    return found.values.tolist()


def expected_counts(values, group_of, groups):
    seen = [set() for _ in range(groups)]
    for value, group in zip(values, group_of, strict=True):
        if value is not None:
            seen[group].add(object() if value != value else group_key(value))
    return [len(each) for each in seen]


@given(data=st.data(), limits=st.sampled_from(list(LIMITS)), groups=st.integers(1, 4))
def test_distinct_counts_equal_those_of_sets(data, limits, groups):
    values = data.draw(st.lists(data.draw(st.sampled_from(VALUES)), max_size=30))
    group_of = np.array([data.draw(st.integers(0, groups - 1)) for _ in values], dtype=np.int64)
    column = column_of(values) if values else Column(ColumnKind.INTEGER, np.zeros(0, np.int64))
    if not isinstance(column, Column):
        return
    with pytest.MonkeyPatch.context() as patch:
        for name, number in LIMITS[limits].items():
            patch.setattr(row_codes, name, number)
        found = distinct_counts(column, group_of, groups)
    assert found == expected_counts(values, group_of.tolist(), groups)


@pytest.mark.parametrize("different", [10, 100_000, 2**62])
@pytest.mark.parametrize("groups", [1, 7, 20_000])
def test_distinct_counts_of_many_rows(different, groups):
    random = np.random.default_rng(1)
    values = random.integers(-different, different, 100_000)
    values[::7] = values[0]
    group_of = random.integers(0, groups, 100_000)
    found = distinct_counts(Column(ColumnKind.INTEGER, values), group_of, groups)
    pairs = np.unique(np.stack([group_of, values]), axis=1)
    assert found == np.bincount(pairs[0], minlength=groups).tolist()


def test_null_is_no_value_and_the_two_zeros_are_one():
    keys = [column_of([1, 1, 1, 2, 2, 3])]
    values = column_of([0.0, -0.0, math.inf, None, 2.5, None])
    counts = aggregate("count", values, (), group_rows(keys, 6), 6, distinct=True)
    assert counts.values.tolist() == [2, 1, 0]
