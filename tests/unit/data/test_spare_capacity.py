"""Arrays that grow at their end share memory, and no array's contents ever change."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpugda.data.patches import spare_capacity
from gpugda.data.patches.spare_capacity import appended

LARGE = spare_capacity._MIN_LENGTH
KINDS = (np.uint16, np.uint32, np.int32, np.int64, np.float64, np.bool_)


def numbers(count, kind=np.int64):
    return (np.arange(count) % 60_000).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 1, LARGE - 1, LARGE])
def test_appended_values_follow_the_array(count, kind):
    before = numbers(count, kind)
    first = appended(before, np.array([1, 0], dtype=kind), 2)
    second = appended(first, 1, 3)
    assert first.dtype == second.dtype == kind
    assert first.tolist() == [*before.tolist(), 1, 0]
    assert second.tolist() == [*before.tolist(), 1, 0, 1, 1, 1]


def test_the_next_array_shares_memory():
    first = appended(numbers(LARGE), 5, 1)
    assert np.shares_memory(first, appended(first, 6, 1))


def test_a_second_append_to_an_array_copies():
    first = appended(numbers(LARGE), 5, 1)
    one, other = appended(first, 6, 1), appended(first, 7, 2)
    assert not np.shares_memory(one, other)
    assert (one[-1], *other[-2:], first[-1]) == (6, 7, 7, 5)


@pytest.mark.parametrize(
    "part", [slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2)]
)
def test_appending_to_a_part_of_an_array_copies(part):
    whole = appended(numbers(LARGE), [5, 6], 2)
    found = appended(whole[part], 9, 1)
    assert not np.shares_memory(whole, found)
    assert found.tolist() == [*whole[part].tolist(), 9]


def test_appending_to_another_dtype_of_the_array_copies():
    whole = appended(numbers(LARGE), 5, 1)
    assert not np.shares_memory(whole, appended(whole.view(np.uint64), 9, 1))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 900)), max_size=12))
def test_appending_changes_no_earlier_array(steps):
    arrays = [numbers(LARGE)]
    known = [arrays[0].tolist()]
    for number, (which, count) in enumerate(steps):
        place = which % len(arrays)
        added = np.full(count, -1 - number)
        arrays.append(appended(arrays[place], added, count))
        known.append(known[place] + added.tolist())
    for array, values in zip(arrays, known, strict=True):
        assert array.tolist() == values
