"""Equality of expressions as text."""

import pytest

from gpugda.query.parser import parse
from gpugda.query.render import expression_text
from gpugda.query.shapes import conjuncts, join_by_ampersand, shape, variable_names


def read(text):
    return parse(f"MATCH (a) RETURN {text} AS x").parts[0].clauses[1].projection.items[0].expression


@pytest.mark.parametrize(
    ("left", "right"),
    [("a . x", "(a.x)"), ("TYPE(r)", "type( r )"), ("a.x=1", "(a.x) = 1"), ("'it'", '"it"')],
)
def test_queries_of_one_shape_have_equal_shapes(left, right):
    assert shape(read(left)) == shape(read(right))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("1", "1.0"),
        ("1", "true"),
        ("0.0", "-0.0"),
        ("'1'", "1"),
        ("a", "'a'"),
        ("a", "$a"),
        ("a.x", "a.X"),
        ("a.x < 1", "1 > a.x"),
        ("count(a)", "count(DISTINCT a)"),
        ("[1, 2]", "[2, 1]"),
        ("a:A", "a:B"),
    ],
)
def test_other_queries_have_different_shapes(left, right):
    assert shape(read(left)) != shape(read(right))


def test_variable_names_of_an_expression_are_found():
    expression = read("a.x = b AND [c, {k: d.y}] IN labels(e) OR f:L OR $g OR NOT 1 < h")
    assert variable_names(expression) == set("abcdefh")


def test_an_expression_is_split_into_conjuncts():
    parts = conjuncts(read("a AND (b OR c) AND (d AND NOT (e AND f))"))
    assert [expression_text(part) for part in parts] == ["a", "b OR c", "d", "NOT (e AND f)"]


def test_colons_between_labels_become_ampersands():
    assert expression_text(join_by_ampersand(read("NOT a:A:B"))) == "NOT (a:A&B)"
    assert shape(join_by_ampersand(read("a:A:B"))) == shape(read("a:A&B"))
