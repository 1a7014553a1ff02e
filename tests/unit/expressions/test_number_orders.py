"""Orders of floats with both zeros, and selection of numbers by masks, against single values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda import values
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.compare_columns import numbers_at_most, numbers_equal, numbers_less
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.list_columns import is_in
from gpugda.expressions.operands import Constant, distinct_values, value_at
from gpugda.expressions.scatter import selected_values

FLOATS = [-1.5, -0.0, 0.0, 2.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("left", FLOATS)
@pytest.mark.parametrize("right", [*FLOATS, 0, 1])
def test_comparing_float_columns_equals_comparing_values(left, right):
    expected = values.less(left, right, or_equal=False)
    columns = [np.array([each] * 3, dtype=np.float64) for each in (left, right)]
    kept = right if isinstance(right, int) else columns[1]
    for one, other in ((columns[0], right), (left, kept), (columns[0], kept)):
        found = numbers_less(one, other)
        assert np.broadcast_to(found, 3).tolist() == [bool(expected)] * 3, (one, other)


@given(
    st.lists(st.integers(0, 3), min_size=1),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from([ColumnKind.INTEGER, ColumnKind.FLOAT]),
)
def test_numbers_are_selected_by_masks(which, pieces, constant, kind):
    count = len(which)
    dtype = np.int64 if kind is ColumnKind.INTEGER else np.float64
    random = np.random.default_rng(count)
    columns = [Column(kind, random.integers(-9, 9, count).astype(dtype)) for _ in range(pieces)]
    operands = [*columns[1:], Constant(columns[0].values[0].item()) if constant else columns[0]]
    chosen = [(np.array(which) == number, each) for number, each in enumerate(operands)]
    found = selected_values(chosen, count)
    expected = [
        value_at(operands[number], row) if number < pieces else None
        for row, number in enumerate(which)
    ]
    assert [value_at(found, row) for row in range(count)] == expected


LONGS = [0, 1, -1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]
BOTH = [*FLOATS, 2.0**53, 2.0**63, -(2.0**63), 0.5]


@pytest.mark.parametrize("kinds", ["ff", "fi", "if", "ii"])
@pytest.mark.parametrize("constant", [None, 0, 1])
def test_comparing_columns_equals_comparing_values(kinds, constant):
    """Arrays with arrays, and arrays with one number."""
    numbers = {"f": BOTH, "i": LONGS}
    pairs = [(a, b) for a in numbers[kinds[0]] for b in numbers[kinds[1]]]
    wholes = [pairs] if constant is None else [[pair] for pair in pairs]
    tests = (
        (numbers_equal, values.equals),
        (numbers_less, lambda a, b: values.less(a, b, or_equal=False)),
        (numbers_at_most, lambda a, b: values.less(a, b, or_equal=True)),
    )
    for whole in wholes:
        sides = [np.array(side) for side in zip(*whole, strict=True)]
        if constant is not None:
            sides[constant] = whole[0][constant]
        for found, test in tests:
            flags = np.broadcast_to(found(*sides), len(whole))
            assert flags.tolist() == [bool(test(a, b)) for a, b in whole], (test, whole)


@given(
    which=st.lists(st.integers(0, 4), min_size=1, max_size=40),
    constants=st.sampled_from([[1, -2, 3], [1.5, -0.0, math.inf], ["b", "", "a"], ["x", "x"]]),
)
def test_constants_are_selected_by_masks(which, constants):
    chosen = [(np.array(which) == n, Constant(each)) for n, each in enumerate(constants)]
    found = selected_values(chosen, len(which))
    expected = [constants[n] if n < len(constants) else None for n in which]
    assert [repr(value_at(found, row)) for row in range(len(which))] == list(map(repr, expected))


@given(
    values_=st.one_of(
        st.lists(st.one_of(st.none(), st.sampled_from(LONGS)), min_size=1),
        st.lists(st.one_of(st.none(), st.sampled_from(BOTH)), min_size=1),
        st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b"])), min_size=1),
    ),
    items=st.lists(st.sampled_from([*LONGS, *BOTH, None, "", "a", "no such text"]), max_size=12),
)
def test_in_on_columns_equals_in_on_values(values_, items):
    column = column_of(values_)
    truth = is_in(column, Constant(items), len(values_), {})
    expected = [values.is_in(value, items) for value in values_]
    holds, fails = (np.broadcast_to(each, len(values_)) for each in (truth.holds, truth.fails))
    assert holds.tolist() == [each is True for each in expected]
    assert fails.tolist() == [each is False for each in expected]


@given(st.lists(st.one_of(st.none(), st.integers(-5, 5), st.sampled_from(LONGS)), min_size=1))
def test_distinct_values_and_positions_restore_the_column(numbers):
    places, distinct = distinct_values(column_of(numbers), len(numbers))
    assert [distinct[place] for place in places.tolist()] == numbers
    assert len(set(distinct)) == len(distinct)
