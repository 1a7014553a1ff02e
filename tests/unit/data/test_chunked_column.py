from __future__ import annotations

import numpy as np
import pytest

from gpugda.data.values.chunked_column import ChunkedColumn, can_be_chunked, chunks_of
from gpugda.data.values.columns import Column, ColumnKind, column_from_values, to_values


def integers(*values, valid=None):
    mask = None if valid is None else np.array(valid, dtype=np.bool_)
    return Column(ColumnKind.INTEGER, np.array(values, dtype=np.int64), mask)


@pytest.fixture
def chunked():
    return ChunkedColumn([integers(0, 1, 2), integers(), integers(3, 0, valid=[True, False])])


def test_a_chunked_column_acts_as_a_column(chunked):
    assert len(chunked) == 5
    assert (chunked.kind, chunked.dictionary, chunked.nbytes) == (ColumnKind.INTEGER, None, 45)
    assert to_values(chunked) == [0, 1, 2, 3, None]
    assert to_values(chunked.take(np.array([4, 0]))) == [None, 0]


def test_chunks_are_joined_only_on_demand(chunked):
    first, second = chunked.chunks
    assert [len(first), len(second)] == [3, 2]
    values = chunked.values
    assert len(chunked.chunks) == 1
    assert chunked.values is values
    assert not np.shares_memory(values, first.values)


@pytest.mark.parametrize("start", range(7))
@pytest.mark.parametrize("stop", [0, 1, 3, 4, 5, 9, None])
@pytest.mark.parametrize("whole", [False, True])
def test_a_slice_consists_of_the_chunks_in_it(chunked, start, stop, whole):
    if whole:
        _ = chunked.values
    found = list(chunks_of(chunked, start, stop))
    assert [value for each in found for value in to_values(each)] == to_values(chunked)[start:stop]
    assert len(found) == 1 or all(map(len, found))


def test_a_plain_column_is_its_only_chunk():
    column = integers(1, 2)
    assert list(chunks_of(column)) == [column]
    (part,) = chunks_of(column, 1)
    assert np.shares_memory(part.values, column.values)


def test_chunks_of_chunked_columns_are_flattened(chunked):
    outer = ChunkedColumn([chunked, integers(9), ChunkedColumn([integers(), integers()])])
    assert to_values(outer) == [0, 1, 2, 3, None, 9]


def test_columns_of_different_dictionaries_cannot_be_chunked():
    texts, others = column_from_values(["a"]), column_from_values(["a"])
    assert can_be_chunked([texts, texts])
    assert not can_be_chunked([texts, others])  # codes of two dictionaries
    assert not can_be_chunked([texts, integers(1)])
