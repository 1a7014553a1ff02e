"""Scattered ids in a hash table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data import identifiers
from gpugda.data.identifiers import IdTable

IDS = st.lists(
    st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3), min_size=1, max_size=40, unique=True
)
NO_NODE = 2**32 - 1


def table_of(ids):
    values = np.array(ids, dtype=np.int64)
    return IdTable(values, np.arange(len(ids), dtype=np.uint32) + np.uint32(7))


@given(IDS, IDS)
def test_only_known_ids_are_found(ids, strangers):
    table = table_of(ids)
    assert not table.has_repeats
    asked = np.array(strangers + ids[::-1] + ids, dtype=np.int64)
    known = {each: node + 7 for node, each in enumerate(ids)}
    assert table.find(asked).tolist() == [known.get(each, NO_NODE) for each in asked.tolist()]


@given(IDS, st.data())
def test_repeated_ids_are_found(ids, data):
    assert table_of([*ids, data.draw(st.sampled_from(ids))]).has_repeats


@pytest.mark.parametrize("step", [1, 3, 2**20, 2**32, 2**40, 2**45])
def test_regular_ids_collide_rarely(step):
    ids = (np.arange(100_000, dtype=np.int64) * step) - 5
    table = table_of(ids)
    assert not table.has_repeats
    assert not table.is_full
    assert np.array_equal(table.find(ids), np.arange(100_000) + 7)


def test_too_many_collisions_make_the_table_full(monkeypatch):
    monkeypatch.setattr(identifiers, "_MAX_ROUNDS", 1)
    assert table_of(np.arange(1000) ** 3).is_full


def test_an_empty_table_finds_nothing():
    assert table_of([5]).find(np.empty(0, dtype=np.int64)).tolist() == []
