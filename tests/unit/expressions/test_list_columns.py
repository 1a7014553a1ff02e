"""List slices, subscripts and IN on columns, against single values."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpugda import values
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions import list_columns
from gpugda.expressions.compare_columns import equal
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.list_columns import element_at, is_in, is_in_lists, part_of
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import Constant, as_column, distinct_values
from gpugda.expressions.operators import access
from gpugda.expressions.parameters import Parameters
from gpugda.expressions.scatter import scattered
from gpugda.query.parser import parse
from gpugda.values import Entity

ELEMENTS = {
    "integers": [1, 2, 3, 7, -4],
    "decimals": [0.0, -0.0, 1.5, float("nan"), 7.0],
    "texts": ["", "a", "b", "7"],
    "truths": [True, False],
    "others": [[1], [None], {"a": 1}, 5, "x"],
    "nodes": [Entity(True, number) for number in range(4)],
}
INDEXES = [0, 1, 2, 5, -1, -2, -6, 2**63 - 1, -(2**63)]


def shown(operand, count):
    """A form in which 1, 1.0, the two zeros and NaN differ."""
    places, found = distinct_values(operand, count)
    return [repr(found[place]) for place in places.tolist()]


def lists_of_rows(rng, kind, rows):
    """A column with some of the lists and nulls; and its values."""
    lists = [rng.choices(ELEMENTS[kind], k=rng.choice([0, 1, 2, 5])) for _ in range(6)]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    items = [item for each in lists for item in each]
    if kind == "nodes":
        indexes = np.array([item.index for item in items], dtype=np.uint32)
        dictionary = ColumnLists(offsets, Column(ColumnKind.NODE, indexes))
    else:
        dictionary = ColumnLists(offsets, column_of(items))
    codes = np.array([rng.randrange(6) for _ in range(rows)], dtype=np.int32)
    known = np.array([rng.random() < 0.8 for _ in range(rows)])
    column = Column(ColumnKind.OBJECT, codes, known, dictionary)
    return column, [lists[c] if k else None for c, k in zip(codes.tolist(), known, strict=True)]


@pytest.fixture(params=[3, 40], ids=["fewer rows than lists", "more rows"])
def row_count(request):
    return request.param


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_subscripts_equal_those_of_values(kind, seed, row_count):
    rng = random.Random(f"{kind} {seed}")
    lists, given = lists_of_rows(rng, kind, row_count)
    for index in INDEXES:
        found = element_at(lists, Constant(index))
        expected = [access.subscript(each, index, None) for each in given]
        assert shown(found, row_count) == [repr(each) for each in expected]
    places = [rng.choice([*INDEXES, None]) for _ in range(row_count)]
    found = element_at(lists, as_column(column_of([*places, 1]).take(np.arange(row_count)), 0))
    expected = [access.subscript(a, b, None) for a, b in zip(given, places, strict=True)]
    assert shown(found, row_count) == [repr(each) for each in expected]


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("first", [0, 2])
def test_subscripts_of_contiguous_lists(kind, first):
    """As for collected lists: their offsets are a slice of all offsets."""
    given, _ = lists_of_rows(random.Random(kind), kind, 3)
    codes = np.arange(first, first + 4, dtype=np.int32)
    lists = Column(ColumnKind.OBJECT, codes, None, given.dictionary)
    values_of = given.dictionary.values(codes)
    for index in INDEXES:
        expected = [access.subscript(each, index, None) for each in values_of]
        assert shown(element_at(lists, Constant(index)), 4) == [repr(each) for each in expected]
    assert np.shares_memory(list_columns._parts(lists)[0], given.dictionary.offsets)


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_slices_equal_those_of_values(kind, seed, row_count):
    rng = random.Random(f"{kind} {seed}")
    lists, given = lists_of_rows(rng, kind, row_count)
    for start in (..., 0, 1, -1, -9, 9, 2**31 - 1):
        for end in (..., 0, 2, -1, -9, 9, -(2**31 - 1)):
            found = part_of(lists, Constant(start), Constant(end))
            expected = [access.slice_of(each, start, end) for each in given]
            assert shown(found, row_count) == [repr(each) for each in expected]


@pytest.mark.parametrize("kind", sorted(set(ELEMENTS) - {"others"}))
@pytest.mark.parametrize("seed", range(3))
def test_in_equals_that_of_values(kind, seed, row_count):
    rng = random.Random(f"{kind} {seed}")
    lists, given = lists_of_rows(rng, kind, row_count)
    for item in (1, 1.0, 7, -0.0, "a", "7", True, [1], float("nan"), Entity(True, 2)):
        expected = [values.is_in(item, each) for each in given]
        assert truths(is_in_lists(Constant(item), lists, {}), row_count) == expected
    if kind in ("integers", "nodes"):
        asked = [rng.choice([*ELEMENTS[kind], None]) for _ in range(row_count)]
        left = column_of([*asked, ELEMENTS[kind][0]]).take(np.arange(row_count))
        expected = [values.is_in(a, b) for a, b in zip(asked, given, strict=True)]
        assert truths(is_in_lists(left, lists, {}), row_count) == expected


def truths(truth, count):
    holds, fails = (np.broadcast_to(each, count).tolist() for each in (truth.holds, truth.fails))
    assert not any(a and b for a, b in zip(holds, fails, strict=True))
    return [True if a else False if b else None for a, b in zip(holds, fails, strict=True)]


def test_other_subscripts_are_left_to_single_values():
    lists, _ = lists_of_rows(random.Random(1), "integers", 4)
    assert element_at(lists, Constant(1.5)) is None
    assert element_at(lists, Constant(True)) is None
    assert element_at(lists, Constant(None)) is None
    assert element_at(Constant([1]), Constant(0)) is None
    assert part_of(lists, Constant(None), Constant(...)) is None
    assert part_of(lists, Constant(2**40), Constant(...)) is None
    assert is_in_lists(Constant(None), lists, {}) is None
    others, _ = lists_of_rows(random.Random(1), "others", 4)
    assert is_in_lists(Constant(1), others, {}) is None


def test_lists_without_elements_give_null():
    nothing = ColumnLists(np.zeros(3, dtype=np.int64), column_of([]))
    lists = Column(ColumnKind.OBJECT, np.array([0, 1], dtype=np.int32), None, nothing)
    assert shown(element_at(lists, Constant(0)), 2) == ["None", "None"]
    assert shown(part_of(lists, Constant(...), Constant(2)), 2) == ["[]", "[]"]


def test_a_constant_node_is_compared_with_a_column():
    nodes = Column(ColumnKind.NODE, np.array([0, 2, 1, 2], dtype=np.uint32))
    same = equal(nodes, Constant(Entity(True, 2)), 4, {})
    assert truths(same, 4) == [False, True, False, True]
    assert truths(is_in(nodes, Constant([Entity(True, 2), Entity(False, 0)]), 4, {}), 4) == [
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("kind", ELEMENTS)
def test_lists_of_several_columns(kind):
    rng = random.Random(kind)
    columns = [lists_of_rows(rng, kind, 7) for _ in range(3)]
    rows = np.array_split(np.random.default_rng(1).permutation(24), 3)
    pieces = [(each[:7], column) for each, (column, _) in zip(rows, columns, strict=True)]
    expected = ["None"] * 24
    for places, (_, given) in zip(rows, columns, strict=True):
        for place, each in zip(places.tolist(), given, strict=False):
            expected[place] = repr(each)
    assert shown(scattered(pieces, 24), 24) == expected


def test_comprehensions_keep_their_elements_in_columns():
    lists, given = lists_of_rows(random.Random(3), "integers", 50)
    parts = parse("RETURN [v IN list WHERE v > 0 | v * 1.5]").parts[0]
    node = parts.clauses[0].projection.items[0].expression
    environment = Environment(50, Parameters({}, ""), "", variables={"list": lists})
    found = evaluate_operand(node, environment)
    assert isinstance(found.dictionary, ColumnLists)
    expected = [None if each is None else [v * 1.5 for v in each if v > 0] for each in given]
    assert shown(found, 50) == [repr(each) for each in expected]


@pytest.mark.parametrize("known", [[True] * 4, [True, False, True, True]], ids=["all", "null"])
@pytest.mark.parametrize("codes", [[0, 1, 2, 3], [2, 3, 4, 5], [1, 1, 2, 3], [3, 2, 1, 0]])
def test_elements_of_contiguous_lists_equal_those_of_values(codes, known):
    lists = [[1, 2], [], [3, 0, 5], [7], [1, 1], [9]]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    dictionary = ColumnLists(offsets, column_of([item for each in lists for item in each]))
    column = Column(ColumnKind.OBJECT, np.array(codes, np.int32), np.array(known), dictionary)
    if all(known):
        column = Column(ColumnKind.OBJECT, column.values, None, dictionary)
    given = [lists[code] if k else None for code, k in zip(codes, known, strict=True)]
    environment = Environment(4, Parameters({}, ""), "", variables={"l": column})

    def found(text):
        expression = parse(f"RETURN {text}").parts[0].clauses[0].projection.items[0].expression
        return shown(evaluate_operand(expression, environment), 4)

    def each(make):
        return [repr(None if one is None else make(one)) for one in given]

    assert found("[x IN l | x + 1]") == each(lambda one: [item + 1 for item in one])
    assert found("[x IN l WHERE x > 1]") == each(lambda one: [item for item in one if item > 1])
    assert found("any(x IN l WHERE x > 5)") == each(lambda one: any(item > 5 for item in one))
    assert found("single(x IN l WHERE x = 1)") == each(lambda one: one.count(1) == 1)
