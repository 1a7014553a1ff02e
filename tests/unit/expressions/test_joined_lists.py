"""Concatenated columns of lists of entities and of paths, against their values."""

from __future__ import annotations

import numpy as np
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.data.values.columns import (
    Column,
    ColumnKind,
    column_from_values,
    constant_null,
    to_values,
)
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.lists import ColumnLists, PathRows, joined_lists

GRAPH = make_graph([("", {})] * 3, [(0, "R", 1, {}), (1, "R", 2, {}), (2, "R", 2, {})])
LISTS = st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=4)


def offsets_of(lists):
    return np.cumsum([0, *map(len, lists)])


def indexes_of(lists):
    return np.array([each for some in lists for each in some], dtype=np.uint32)


def entities(offsets, indexes, *, of_nodes):
    kind = ColumnKind.NODE if of_nodes else ColumnKind.RELATIONSHIP
    return ColumnLists(offsets, Column(kind, indexes))


@st.composite
def columns(draw, paths):
    lists = [[0, 1, 2][: len(each)] for each in draw(LISTS)] if paths else draw(LISTS)
    made = offsets_of(lists), indexes_of(lists)
    dictionary = (
        PathRows(GRAPH, np.zeros(len(lists), np.uint32), *made)
        if paths
        else entities(*made, of_nodes=False)
    )
    codes = draw(st.lists(st.integers(0, len(lists) - 1), max_size=6))
    valid = draw(st.none() | st.lists(st.booleans(), min_size=len(codes), max_size=len(codes)))
    there = None if valid is None else np.array(valid, dtype=np.bool_)
    column = Column(ColumnKind.OBJECT, np.array(codes, dtype=np.int32), there, dictionary)
    return column if draw(st.integers(0, 3)) else constant_null(len(codes))


@given(st.booleans().flatmap(lambda paths: st.lists(columns(paths), min_size=1, max_size=4)))
def test_joined_lists_keep_their_values(some):
    expected = [value for each in some for value in to_values(each)]
    found = joined_lists(some)
    if found is None:
        assert not any(expected)  # only nulls, and lists that no row has
        return
    assert to_values(found) == expected
    assert found.dictionary is not None
    assert len(found.dictionary) <= sum(map(len, some))


def test_lists_of_different_kinds_are_not_joined():
    lists = Column(
        ColumnKind.OBJECT,
        np.zeros(1, dtype=np.int32),
        None,
        entities(np.array([0, 1]), np.array([1], dtype=np.uint32), of_nodes=False),
    )
    nodes = Column(
        ColumnKind.OBJECT,
        np.zeros(1, dtype=np.int32),
        None,
        entities(np.array([0, 1]), np.array([1], dtype=np.uint32), of_nodes=True),
    )
    assert joined_lists([lists, nodes]) is None
    assert joined_lists([lists, column_from_values([[1]])]) is None
    assert joined_lists([lists, column_from_values(["text"])]) is None


@st.composite
def plain_lists(draw):
    kind = draw(st.sampled_from([1, 2.5, "a", True]))
    items = draw(st.lists(st.lists(st.sampled_from([None, kind]), max_size=3), max_size=4))
    codes = draw(st.lists(st.integers(0, len(items) - 1), max_size=5)) if items else []
    elements = column_of([each for some in items for each in some])
    made = Column(
        ColumnKind.OBJECT,
        np.array(codes, dtype=np.int32),
        None,
        ColumnLists(offsets_of(items), elements),
    )
    if not draw(st.booleans()):
        return made
    # Lists of these lists.
    outer = np.array([0, len(codes), len(codes)])
    return Column(
        ColumnKind.OBJECT, np.array([1, 0], dtype=np.int32), None, ColumnLists(outer, made)
    )


@given(st.lists(plain_lists(), min_size=1, max_size=4))
def test_joined_lists_of_values_and_of_lists_keep_their_values(some):
    expected = [value for each in some for value in to_values(each)]
    found = joined_lists(some)
    if found is not None:
        assert list(map(repr, to_values(found))) == list(map(repr, expected))
