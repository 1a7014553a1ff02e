"""Moving many numbers at once, by blocks, equals moving each of them."""

import numpy as np
import pytest

from gpugda.data.patches import changing
from gpugda.data.patches.shifts import Shifts
from gpugda.data.patches.sorted_sets import is_in_sorted, sorted_counts, sorted_distinct
from gpugda.data.patches.splice import Splice

FEW, MANY = 70_001, (1 << 20) + 3
"""Array lengths: two blocks on one thread, and work for all threads."""


@pytest.mark.parametrize("count", [FEW, MANY])
def test_renumbering_many_entries_equals_one_by_one(count):
    removed = np.array([0, 31, 5000, count - 1])
    splice = Splice(count, removed, np.array([0, 64, 64, 65, 9000, count]))
    stay = np.delete(np.arange(count, dtype=np.uint32), removed)
    assert np.array_equal(splice.renumbered(stay[::-1].copy()), splice.moved(stay)[::-1])


@pytest.mark.parametrize(
    ("removed", "places"),
    [([7], []), ([], [7]), ([0, 31], [31, 31]), ([9], [9, 10, 50]), ([], [0])],
)
def test_renumbering_after_few_changes_equals_the_general_form(removed, places):
    splice = Splice(50, np.array(removed, dtype=np.int64), np.array(places, dtype=np.int64))
    stay = np.delete(np.arange(50, dtype=np.uint32), removed)
    found = splice.renumbered(stay)
    assert found.dtype == np.uint32
    assert np.array_equal(found, splice.moved(stay))
    assert np.array_equal(np.delete(np.arange(splice.new_count), splice.new_places()), found)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_shifting_many_numbers_equals_one_by_one(count):
    shifts = Shifts(np.array([0, 40, 4096]), np.array([7, -3, 12]))
    numbers = np.arange(40, count + 40, dtype=np.uint32) % np.uint32(count)
    assert np.array_equal(shifts.moved_all(numbers, count), shifts.moved(numbers))


@pytest.mark.parametrize("count", [0, 1, 2, 9, 100])
def test_few_numbers_are_sorted_as_by_numpy(count):
    random = np.random.default_rng(count)
    numbers, others = random.integers(0, 20, (2, count))
    np.testing.assert_array_equal(sorted_distinct(numbers), np.unique(numbers))
    np.testing.assert_array_equal(
        sorted_distinct(numbers, others), np.unique(np.concatenate([numbers, others]))
    )
    for found, expected in zip(
        sorted_counts(numbers), np.unique(numbers, return_counts=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    some = np.sort(others)
    np.testing.assert_array_equal(is_in_sorted(numbers, some), np.isin(numbers, some))


@pytest.mark.parametrize("steps", [1, changing.MANY_STEPS, changing.MANY_STEPS + 1, 200])
def test_stepping_a_short_array_adds_all_earlier_steps(steps):
    random = np.random.default_rng(steps)
    offsets = np.sort(random.integers(500, 1_000, 300)).astype(np.uint32)
    places = np.sort(random.integers(0, 301, steps))
    amounts = random.integers(-2, 3, steps)
    added = [amounts[places <= entry].sum() for entry in range(300)]
    found = changing.stepped(offsets, places, amounts)
    np.testing.assert_array_equal(found, offsets.astype(np.int64) + added)
