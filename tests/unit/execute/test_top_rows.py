"""ORDER BY with LIMIT: the first rows of a sort, without sorting everything."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.execute import sorting
from gpugda.execute.sorting import sorted_rows
from gpugda.expressions.computed_columns import column_of
from gpugda.values import order_key

VALUES = [
    st.one_of(st.none(), st.integers(-3, 3)),
    st.sampled_from([-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 0]),
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5])),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5]),
    st.one_of(st.none(), st.sampled_from(["", "a", "ab", "ä"])),
    st.one_of(st.none(), st.booleans()),
    st.sampled_from([None, 1, 1.5, "1", True, [1]]),
]
KEYS = st.lists(st.tuples(st.sampled_from(VALUES), st.booleans()), min_size=1, max_size=3)


def slowly(rows, descending, limit):
    order = list(range(len(rows)))
    for place in reversed(range(len(descending))):
        order.sort(key=lambda row: order_key(rows[row][place]), reverse=descending[place])
    return order[:limit]


@given(data=st.data(), kinds=KEYS, margin=st.integers(0, 3))
def test_top_rows_equal_those_of_a_full_sort(data, kinds, margin):
    rows = data.draw(st.lists(st.tuples(*(kind for kind, _ in kinds)), max_size=60))
    limit = data.draw(st.integers(0, 20))
    descending = [turned for _, turned in kinds]
    operands = [column_of(list(each)) for each in zip(*rows, strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_SAMPLED_ROWS", 8)
        for name, number in {"_SAMPLES": 8, "_MARGIN": margin, "_WINDOW": 7}.items():
            patch.setattr(sorting, name, number)
        found = sorted_rows(operands, descending, len(rows), limit) if rows else np.zeros(0)
    assert found.tolist() == slowly(rows, descending, limit)


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 1, 10, 5000])
def test_top_rows_of_many_rows(limit, monkeypatch):
    random = np.random.default_rng(1)
    numbers = random.normal(size=100_000)
    numbers[:5] = [-0.0, 0.0, math.nan, math.inf, -math.inf]
    values = numbers.tolist()
    values[50:60] = [None] * 10
    sorted_by: list[int] = []
    real = sorting.stable_order_of_keys
    monkeypatch.setattr(
        sorting,
        "stable_order_of_keys",
        lambda keys: sorted_by.append(len(keys[0])) or real(keys),
    )
    for descending in (False, True):
        found = sorted_rows([column_of(values)], [descending], len(values), limit)
        assert found.tolist() == slowly([(v,) for v in values], [descending], limit)
    assert max(sorted_by) < 20_000, "not all rows are sorted"
