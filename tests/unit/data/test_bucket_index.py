"""Lookup of a column's rows by value."""

import math

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import column_from_values
from gpugda.match.candidates.indexed_nodes import BucketIndex, find_index

INTEGERS = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
FLOATS = st.floats() | st.sampled_from([0.0, -0.0, 5e-324, 1e308, -1e308, math.inf])


@given(
    values=st.lists(st.none() | INTEGERS, max_size=60) | st.lists(st.none() | FLOATS, max_size=60),
    bounds=st.tuples(INTEGERS | FLOATS.filter(lambda x: x == x), INTEGERS),
)
def test_all_rows_of_the_range_are_found(values, bounds):
    low, high = map(float, bounds)
    column = column_from_values(values)
    if column.kind not in ("integer", "float"):
        return
    rows = BucketIndex(column).between(low, high, len(values))
    within = {at for at, each in enumerate(values) if each is not None and low <= each <= high}
    assert within <= set(rows.tolist())
    assert all(values[at] is not None and values[at] == values[at] for at in rows.tolist())
    assert len(set(rows.tolist())) == len(rows)


def test_few_rows_outside_the_range_are_found():
    index = BucketIndex(column_from_values(list(range(200_000))))
    assert 77 in index.between(77.0, 77.0, 10).tolist()
    assert index.between(77.0, 5000.0, 10) is None
    assert len(index.between(77.0, 5000.0, 10_000)) < 5000
    assert len(index.between(5.0, 1.0, 10)) <= 4
    assert index.nbytes >= 800_000


@pytest.fixture
def graph():
    return make_graph([("", {"x": at, "y": at % 7, "z": [at]}) for at in range(50)])


def test_an_index_is_made_after_enough_comparisons(graph, monkeypatch):
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._SCANS", 2)
    assert all(find_index(graph, "x", graph.node_properties["x"]) is None for _ in range(9))
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._MIN_ROWS", 0)
    found = [find_index(graph, "x", graph.node_properties["x"]) for _ in range(4)]
    assert found[:2] == [None, None]
    assert found[2] is found[3] is not None
    assert all(find_index(graph, "z", graph.node_properties["z"]) is None for _ in range(9))


def test_the_oldest_index_is_removed_first(graph, monkeypatch):
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._SCANS", 0)
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._MIN_ROWS", 0)
    column, other = graph.node_properties["x"], graph.node_properties["y"]
    first = find_index(graph, "x", column)
    monkeypatch.setattr("gpugda.match.candidates.indexed_nodes._MAX_BYTES", first.nbytes + 100)
    assert find_index(graph, "x", column) is first
    second = find_index(graph, "y", other)
    assert find_index(graph, "y", other) is second
    assert find_index(graph, "x", column) is not first
    np.testing.assert_array_equal(first.between(3, 3, 50), [3])
