"""Comparing the answers of engines."""

import random

import pytest
from neo4j.graph import Graph, Node

from gpugda.bench.answers import answer_of, canonical, difference, multiset_hash

ROWS = [[1, "a"], [2, None], [1, "a"], [3, [1, 2]]]


def test_the_hash_does_not_depend_on_the_order_of_rows():
    texts = [repr(row) for row in ROWS]
    for seed in range(5):
        random.Random(seed).shuffle(texts)
        assert multiset_hash(texts) == multiset_hash(repr(row) for row in ROWS)


@pytest.mark.parametrize(
    "other",
    [
        ROWS[:-1],
        [*ROWS, ROWS[1]],
        [[1, "a"], [2, None], [2, None], [3, [1, 2]]],
        [[1, "a"], [2, None], [1, "a"], [3, [2, 1]]],
        [[1.0, "a"], [2, None], [1, "a"], [3, [1, 2]]],
        [[True, "a"], [2, None], [1, "a"], [3, [1, 2]]],
        [["1", "a"], [2, None], [1, "a"], [3, [1, 2]]],
    ],
)
@pytest.mark.parametrize("cap", [0, 100])
def test_differences_of_answers_are_found(other, cap):
    assert difference(answer_of(ROWS, cap), answer_of(other, cap), None)[0]


def test_equal_rows_do_not_cancel_in_the_hash():
    assert multiset_hash(["a", "a"]) != multiset_hash([])
    assert multiset_hash(["a", "a"]) != multiset_hash(["b", "b"])


def test_the_comparison_reports_its_method():
    kept, hashed = answer_of(ROWS, 4), answer_of(ROWS, 3)
    assert difference(kept, kept, None) == ("", "rows")
    assert difference(hashed, kept, None) == ("", "hash")
    assert difference(kept, answer_of(ROWS[:2], 4), None)[1] == "count"


def test_rows_of_a_limited_query_are_compared_by_count():
    other = answer_of([[9, "x"]] * 4, 10)
    assert difference(answer_of(ROWS, 10), other, 4) == ("", "count")
    assert difference(answer_of(ROWS, 10), other, 5)[0]
    assert difference(answer_of(ROWS, 10), other, 0) == ("", "count")


def test_a_difference_names_an_example():
    what, _ = difference(answer_of([[1], [2]], 9), answer_of([[1], [3]], 9), None)
    assert "1 rows are missing, such as (('int', '2'),)" in what
    assert "('int', '3')" in what


def test_only_a_single_row_has_a_value():
    assert answer_of([[7]], 5).value == 7
    assert answer_of([[7], [8]], 5).value is None


def test_sums_of_floats_may_differ_in_the_last_digit():
    assert canonical(0.1 + 0.2) == canonical(0.3)
    assert canonical(0.3) != canonical(0.3001)
    assert canonical(float("nan")) == canonical(float("nan"))


def test_unordered_lists_are_compared_as_multisets():
    assert canonical([2, 1], lists_unordered=True) == canonical([1, 2], lists_unordered=True)
    assert canonical([2, 1]) != canonical([1, 2])


def test_nodes_of_two_results_are_compared_by_id():
    def node(element_id, **properties):
        return Node(Graph(), element_id, 1, ["B", "A"], properties)

    assert canonical(node("x", a=1, b=2)) == canonical(node("x", b=2, a=1))
    assert canonical(node("x", a=1)) != canonical(node("y", a=1))
    assert canonical(node("x", a=1)) != canonical(node("x", a=2))
