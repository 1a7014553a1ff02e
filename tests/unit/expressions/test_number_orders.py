"""Orders of floats with both zeros, and numbers chosen by masks, against single values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda import values
from gpugda.data.columns import Column, ColumnKind
from gpugda.expressions.chosen import selected_numbers
from gpugda.expressions.number_columns import numbers_less
from gpugda.expressions.operands import Constant, value_at

FLOATS = [-1.5, -0.0, 0.0, 2.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("left", FLOATS)
@pytest.mark.parametrize("right", [*FLOATS, 0, 1])
def test_floats_are_less_as_single_values(left, right):
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
def test_numbers_are_chosen_by_their_masks(which, pieces, constant, kind):
    count = len(which)
    dtype = np.int64 if kind is ColumnKind.INTEGER else np.float64
    random = np.random.default_rng(count)
    columns = [Column(kind, random.integers(-9, 9, count).astype(dtype)) for _ in range(pieces)]
    operands = [*columns[1:], Constant(columns[0].values[0].item()) if constant else columns[0]]
    chosen = [(np.array(which) == number, each) for number, each in enumerate(operands)]
    found = selected_numbers(chosen, count)
    expected = [
        value_at(operands[number], row) if number < pieces else None
        for row, number in enumerate(which)
    ]
    assert [value_at(found, row) for row in range(count)] == expected
