from itertools import islice

import numpy as np
import pytest
from gpugda_adapters.bolt_pages import (
    HubPart,
    IdList,
    IdRange,
    Pace,
    cut,
    occupied_ranges,
    parts_of_hub,
    ranges,
)
from hypothesis import given
from hypothesis import strategies as st


def ids_of(page):
    if isinstance(page, IdRange):
        return list(range(page.first, page.last + 1))
    return page.numbers.tolist()


@given(first=st.integers(0, 2**40), count=st.integers(0, 500), width=st.integers(1, 100))
def test_ranges_cover_each_id_once(first, count, width):
    pages = list(ranges(first, first + count, width))
    assert [each for page in pages for each in ids_of(page)] == list(range(first, first + count))
    assert all(0 < len(page) <= width for page in pages)


@given(
    numbers=st.lists(st.integers(0, 2**62), unique=True, max_size=200),
    width=st.integers(1, 60),
)
def test_lists_cover_each_id_once(numbers, width):
    numbers = np.array(sorted(numbers), dtype=np.int64)
    pages = list(cut(numbers, Pace(width, width, width)))
    assert [each for page in pages for each in ids_of(page)] == numbers.tolist()
    assert all(0 < len(page) <= width for page in pages)


@given(numbers=st.lists(st.integers(0, 300), unique=True, min_size=1, max_size=100))
def test_the_query_of_a_list_asks_for_all_its_ids_and_few_others(numbers):
    page = IdList(np.array(sorted(numbers), dtype=np.int64))
    text = page.match("()-[x]->()", "x")
    if text == "WITH $ids AS ids MATCH ()-[x]->() WHERE id(x) IN ids":
        asked = page.parameters["ids"]
        assert asked == page.numbers.tolist()
    else:
        assert text == "WITH range($first, $last) AS ids MATCH ()-[x]->() WHERE id(x) IN ids"
        asked = range(page.parameters["first"], page.parameters["last"] + 1)
        assert set(page.numbers.tolist()) <= set(asked)
    assert len(asked) <= 2 * len(page)


@pytest.mark.parametrize("page", [IdRange(5, 105), IdList(np.arange(0, 1000, 9))])
def test_pieces_cover_their_page(page):
    pieces = page.pieces()
    assert [each for piece in pieces for each in ids_of(piece)] == ids_of(page)
    assert max(len(piece) for piece in pieces) < len(page)


@pytest.mark.parametrize("page", [IdRange(7, 7), IdList(np.array([7])), HubPart(7, 0, 2**21 + 1)])
def test_a_page_of_one_id_has_no_pieces(page):
    assert page.pieces() == ()


@given(
    degree=st.integers(1, 3000),
    width=st.integers(1, 300),
    shift=st.integers(0, 51),
    start=st.integers(0, 2**10),
)
def test_parts_of_a_hub_are_even_and_have_each_relationship_once(degree, width, shift, start):
    # All ids end in the same bits, as in stores whose relationship ids end in the node's id.
    ids = [(each << shift) + start for each in range(degree)]
    parts = list(parts_of_hub(start, degree, width))
    found = [[each for each in ids if each % part.parts == part.part] for part in parts]
    assert sorted(each for some in found for each in some) == ids
    assert max(map(len, found)) <= width


def test_pieces_of_a_hub_part_have_each_of_its_relationships_once():
    part = HubPart(3, 2, 5)
    mine = [each for each in range(1000) if each % 5 == 2]
    pieces = part.pieces()
    found = [each for piece in pieces for each in mine if each % piece.parts == piece.part]
    assert sorted(found) == mine
    assert all(piece.parts % 2 == 1 for piece in pieces)


def test_occupied_ranges_begin_at_the_given_ids():
    assert list(occupied_ranges([9, 2], 25, 10)) == [IdRange(25, 29), IdRange(90, 99)]


def test_quick_pages_raise_the_page_size_and_slow_ones_lower_it():
    pace = Pace(1_000, smallest=100, largest=4_000)
    for _ in range(5):
        pace.took(pace.width, 0.01)
    assert pace.width == 4_000
    pace.took(2_000, 0.01)  # requested before the size changed: ignored
    assert pace.width == 4_000
    for _ in range(9):
        pace.took(pace.width, 1.0)
    assert pace.width == 100


def test_lists_have_the_current_page_size():
    pace = Pace(2)
    pages = cut(np.arange(100), pace)
    assert [len(page) for page in islice(pages, 2)] == [2, 2]
    pace.width = 7
    assert len(next(pages)) == 7
