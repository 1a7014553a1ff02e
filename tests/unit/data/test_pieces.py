from __future__ import annotations

import numpy as np
import pytest

from gpugda.data.columns import Column, ColumnKind, column_from_values, to_values
from gpugda.data.pieces import PiecedColumn, can_stay_apart, pieces_of


def integers(*values, valid=None):
    mask = None if valid is None else np.array(valid, dtype=np.bool_)
    return Column(ColumnKind.INTEGER, np.array(values, dtype=np.int64), mask)


@pytest.fixture
def pieced():
    return PiecedColumn([integers(0, 1, 2), integers(), integers(3, 0, valid=[True, False])])


def test_it_is_a_column(pieced):
    assert len(pieced) == 5
    assert (pieced.kind, pieced.dictionary, pieced.nbytes) == (ColumnKind.INTEGER, None, 45)
    assert to_values(pieced) == [0, 1, 2, 3, None]
    assert to_values(pieced.take(np.array([4, 0]))) == [None, 0]


def test_pieces_are_not_copied_until_one_array_is_asked_for(pieced):
    first, second = pieced.pieces
    assert [len(first), len(second)] == [3, 2]
    values = pieced.values
    assert len(pieced.pieces) == 1
    assert pieced.values is values
    assert not np.shares_memory(values, first.values)


@pytest.mark.parametrize("start", range(7))
@pytest.mark.parametrize("stop", [0, 1, 3, 4, 5, 9, None])
@pytest.mark.parametrize("whole", [False, True])
def test_parts(pieced, start, stop, whole):
    if whole:
        _ = pieced.values
    found = list(pieces_of(pieced, start, stop))
    assert [value for each in found for value in to_values(each)] == to_values(pieced)[start:stop]
    assert len(found) == 1 or all(map(len, found))


def test_pieces_of_a_plain_column_are_itself():
    column = integers(1, 2)
    assert list(pieces_of(column)) == [column]
    (part,) = pieces_of(column, 1)
    assert np.shares_memory(part.values, column.values)


def test_pieces_within_pieces(pieced):
    outer = PiecedColumn([pieced, integers(9), PiecedColumn([integers(), integers()])])
    assert to_values(outer) == [0, 1, 2, 3, None, 9]


def test_what_cannot_stay_apart():
    texts, others = column_from_values(["a"]), column_from_values(["a"])
    assert can_stay_apart([texts, texts])
    assert not can_stay_apart([texts, others])  # codes of two dictionaries
    assert not can_stay_apart([texts, integers(1)])
