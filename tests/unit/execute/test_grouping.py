"""Equal rows, against Python's own comparison of their keys."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.aggregation import grouping, row_codes
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.operands import Constant
from gpugda.values import group_key

LONGS = st.one_of(
    st.integers(-3, 3),
    st.sampled_from([-(2**63), 2**63 - 1, 2**53, 2**53 + 1, 2**62, -1, 0]),
)
VALUES = [
    st.one_of(st.none(), st.integers(-3, 3)),
    st.one_of(st.none(), LONGS),
    LONGS,
    st.one_of(st.none(), st.sampled_from([0.0, -0.0, math.nan, math.inf, 1.5])),
    st.sampled_from([0.0, -0.0, math.nan, -math.nan, math.inf, 1.5]),
    st.one_of(st.none(), st.sampled_from(["", "a", "b", "ä"])),
    st.one_of(st.none(), st.booleans()),
    st.sampled_from([None, 1, 1.0, "1", True, [1], [1.0], 2**53 + 1, 2.0**53]),
    st.none(),
]
KEYS = st.lists(st.sampled_from(VALUES), min_size=1, max_size=4)
LIMITS = {
    "as they are": {},
    "small windows": {"_WINDOW": 3},
    "no tables": {"_TABLE_ROWS": 0, "_SMALL_TABLE": 0},
    "short codes": {"LARGEST_CODE": 1000},
    "short codes, no tables": {"LARGEST_CODE": 1000, "_TABLE_ROWS": 0, "_SMALL_TABLE": 0},
}


def expected_groups(rows):
    """For each row, the first equal row."""
    seen: dict[tuple, int] = {}
    keys = (tuple(object() if v != v else group_key(v) for v in row) for row in rows)
    return [seen.setdefault(key, number) for number, key in enumerate(keys)]


@given(data=st.data(), limits=st.sampled_from(list(LIMITS)))
def test_groups_are_those_of_equal_keys(data, limits):
    kinds = data.draw(KEYS)
    rows = data.draw(st.lists(st.tuples(*kinds), max_size=30))
    operands = [column_of(list(each)) for each in zip(*rows, strict=True)]
    operands.append(Constant(7))
    with pytest.MonkeyPatch.context() as patch:
        for name, number in LIMITS[limits].items():
            patch.setattr(grouping if name == "_WINDOW" else row_codes, name, number)
        groups = group_rows(operands, len(rows))
    expected = expected_groups(rows)
    assert groups.first.tolist() == sorted(set(expected))
    assert groups.first[groups.group_of].tolist() == expected


def test_rows_of_nothing_but_constants_are_one_group():
    for operands in ([], [Constant(None), Constant(3)]):
        groups = group_rows(operands, 4)
        assert (groups.first.tolist(), groups.group_of.tolist()) == ([0], [0] * 4)
        assert group_rows(operands, 0).first.tolist() == []


@pytest.mark.slow
@pytest.mark.parametrize("spread", [100, 10**6, 2**62])
def test_groups_of_many_rows(spread):
    random = np.random.default_rng(1)
    numbers = random.integers(-spread, spread, 100_000).tolist()
    numbers[::7] = numbers[:1] * len(numbers[::7])
    texts = [f"{number % 50}" for number in numbers]
    for columns in ([numbers], [texts, numbers]):
        rows = list(zip(*columns, strict=True))
        operands = [column_of(each) for each in columns]
        groups = group_rows(operands, len(rows))
        assert groups.first[groups.group_of].tolist() == expected_groups(rows)


def test_groups_of_contiguous_nodes_are_numbered_from_the_first(monkeypatch):
    """Even with a large offset: their pairs fit a table, and are not sorted."""
    nodes = [
        Column(ColumnKind.NODE, first + np.arange(3000, dtype=np.uint32) % different)
        for first, different in ((np.uint32(1_000_000), 50), (np.uint32(3_000_000), 40))
    ]
    monkeypatch.setattr(grouping, "_groups_by_order", None)
    groups = group_rows(nodes, 3000)
    pairs = list(zip(*(each.values.tolist() for each in nodes), strict=True))
    assert groups.first[groups.group_of].tolist() == [pairs.index(each) for each in pairs]
