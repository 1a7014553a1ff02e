"""Patched arrays and what they are made of equal arrays that are changed entry by entry."""

import weakref

import numpy as np
import pytest

from gpugda.data.patches import changing
from gpugda.data.patches.patched import Patched
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


OPERATIONS = 3
"""Most changes that one transaction makes to one array."""


def random_splice(random, count):
    removed = np.sort(random.choice(count, min(count, int(random.integers(0, 4))), replace=False))
    return Splice(count, removed, np.sort(random.integers(0, count + 1, random.integers(0, 4))))


def changed_at_random(random, array):
    """The array after one transaction: entries removed, inserted, or increased from a place on."""
    for _ in range(int(random.integers(1, OPERATIONS + 1))):
        if random.integers(0, 2):
            splice = random_splice(random, len(array))
            array = array.spliced(splice, random.integers(1, 9, len(splice.places)))
        else:
            places = np.unique(random.integers(0, len(array) + 1, 3))
            array = array.stepped(places, random.integers(0, 9, len(places)))
    return array


def patched_copy(older, patch):
    """The older array after a patch, entry by entry."""
    starts, places = patch.origins.starts, patch.origins.places
    source = np.concatenate([older.astype(np.int64), np.zeros(len(patch.added), dtype=np.int64)])
    if patch.shifts is not None:
        source = patch.shifts.moved(source)
    source[len(older) :] = patch.added
    lengths = np.diff(starts, append=patch.origins.count)
    entries = np.repeat(places - starts, lengths) + np.arange(patch.origins.count)
    amounts = 0 if patch.amounts is None else np.repeat(patch.amounts, lengths)
    return source[entries] + amounts


@pytest.mark.parametrize("seed", range(40))
def test_a_recent_state_is_patched_from_the_last_changes_as_from_all_stretches(seed, monkeypatch):
    random = np.random.default_rng(seed)
    states = [Patched.of(random.integers(0, 50, 30).astype(np.uint32))]
    for _ in range(12):
        states.append(changed_at_random(random, states[-1]))
    newest = states[-1]
    for older in states[1:-1]:
        patch = newest.since(older)
        np.testing.assert_array_equal(patched_copy(older.whole(), patch), newest.whole())
    quick = newest.since(states[-2])
    assert newest._of_recent_changes(states[-2]) is not None
    assert newest._of_recent_changes(states[1]) is None
    monkeypatch.setattr(Patched, "_of_recent_changes", lambda *_: None)
    slow = newest.since(states[-2])
    np.testing.assert_array_equal(quick.origins.starts, slow.origins.starts)
    np.testing.assert_array_equal(quick.origins.places, slow.origins.places)


def test_numbers_of_spliced_entries_are_patched_from_the_last_changes():
    random = np.random.default_rng(5)
    numbers = Patched.of(random.permutation(60).astype(np.uint32))
    states = [numbers]
    for _ in range(4):
        gone = np.sort(random.choice(len(numbers), 2, replace=False))
        splice = Splice(len(numbers), gone, np.array([0, 7]))
        places = np.flatnonzero(np.isin(numbers.whole(), gone))
        in_rows = Splice(len(numbers), places, np.array([3, 60]))
        numbers = numbers.renumbered(splice).spliced(in_rows, splice.new_places())
        assert sorted(numbers.whole().tolist()) == list(range(60))
        states.append(numbers)
    for older in states[1:-1]:
        patch = numbers._of_recent_changes(older)
        np.testing.assert_array_equal(patched_copy(older.whole(), patch), numbers.whole())


def test_many_changed_entries_are_compared_by_stretches():
    older = Patched.of(np.arange(500, dtype=np.uint32)).stepped(np.array([3]), np.array([1]))
    newest = older.spliced(Splice(500, np.arange(0, 400, 2), np.array([7])), 9)
    assert newest._of_recent_changes(older) is None
    patch = newest.since(older)
    np.testing.assert_array_equal(patched_copy(older.whole(), patch), newest.whole())


def test_an_array_does_not_keep_earlier_states_alive():
    first = Patched.of(np.arange(50, dtype=np.uint32)).stepped(np.array([3]), np.array([1]))
    dead = weakref.ref(first)
    newest = first.stepped(np.array([5]), np.array([1]))
    del first
    assert dead() is None
    assert newest.whole()[-1] == 51
