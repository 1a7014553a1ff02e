"""Columns, grouping and sort keys. Each rule here was checked on Neo4j 5.26."""

import pytest

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query import query_graph as q
from gpugda.query.render import expression_text
from gpugda.query.shapes import rewrite
from tests.one_pattern import query_of


def analysed(text):
    return query_of(f"MATCH {text}")


def readable(expression):
    """References as #k0, #a0 (key, aggregate) and #c0 (column)."""
    letters = {q.KeyReference: "k", q.AggregateReference: "a", q.ColumnReference: "c"}

    def change(part):
        letter = letters.get(type(part))
        return ast.Variable(part.span, f"#{letter}{part.position}") if letter else None

    return expression_text(rewrite(expression, change)).replace("`", "")


def names(text):
    return [column.name for column in analysed(text).columns]


# ------------------------------------------------------------------ RETURN *
@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("(b)-[c:R]->(a) RETURN *", ["a", "b", "c"]),
        ("(`é`), (z), (_a), (A) RETURN *", ["A", "_a", "z", "é"]),
        ("(a)-->() RETURN *, a.x AS x", ["a", "x"]),
        ("(a)-->(b) RETURN *, a.x AS a", ["b", "a"]),
        ("(a)-->(b) RETURN *, b AS c, a", ["b", "c", "a"]),
        ("(a) RETURN *, a", ["a"]),
    ],
)
def test_star_returns_all_variables(text, columns):
    assert names(text) == columns


def test_an_alias_replaces_the_variable_of_its_name():
    assert [
        readable(column.expression) for column in analysed("(a) RETURN *, a.x AS a").columns
    ] == ["a.x"]


# ------------------------------------------------------------------ grouping
@pytest.mark.parametrize(
    ("text", "columns", "keys", "aggregates"),
    [
        ("(a) RETURN count(*)", ["#a0"], [], ["count(*)"]),
        ("(a) RETURN a.x, count(a) AS c", ["#k0", "#a0"], ["a.x"], ["count(*)"]),
        ("(a) RETURN count(*) > 1, a", ["#a0 > 1", "#k0"], ["a"], ["count(*)"]),
        (
            "(a) RETURN count(*), COUNT(a), count(a) = 1",
            ["#a0", "#a1", "#a1 = 1"],
            [],
            ["count(*)", "count(*)"],
        ),
        (
            "(a) RETURN count(a.x), count(DISTINCT a.x)",
            ["#a0", "#a1"],
            [],
            ["count(a.x)", "count(DISTINCT a.x)"],
        ),
        (
            "(a) RETURN a.x, (count(*) > 1) AND (a.x = 1)",
            ["#k0", "(#a0 > 1) AND (#k0 = 1)"],
            ["a.x"],
            ["count(*)"],
        ),
        # A function of a grouping variable is itself a key, even if it is not returned.
        ("(a) RETURN a, count(*) > a.x", ["#k0", "#a0 > #k1"], ["a", "a.x"], ["count(*)"]),
        (
            "(a) RETURN a, a:A OR count(*) = 1",
            ["#k0", "#k1 OR (#a0 = 1)"],
            ["a", "a:A"],
            ["count(*)"],
        ),
        (
            "(a) RETURN a, 'A' IN labels(a) OR count(*) = 1",
            ["#k0", "('A' IN #k1) OR (#a0 = 1)"],
            ["a", "labels(a)"],
            ["count(*)"],
        ),
        ("(a) RETURN $p, count(*) = $p", ["#k0", "#a0 = $p"], ["$p"], ["count(*)"]),
        (
            "(a) RETURN 1, 1.0 AS f, true, count(*) = 1",
            ["#k0", "#k1", "#k2", "#a0 = 1"],
            ["1", "1.0", "true"],
            ["count(*)"],
        ),
        ("(a) RETURN a.x AS x, a.x AS y, count(*)", ["#k0", "#k0", "#a0"], ["a.x"], ["count(*)"]),
        (
            "(a)-[r]->(b) RETURN *, count(*)",
            ["#k0", "#k1", "#k2", "#a0"],
            ["a", "b", "r"],
            ["count(*)"],
        ),
    ],
)
def test_grouping_keys_are_the_items_without_aggregates(text, columns, keys, aggregates):
    query = analysed(text)
    assert query.aggregating
    assert [readable(column.expression) for column in query.columns] == columns
    assert [expression_text(key) for key in query.grouping] == keys
    assert [expression_text(each) for each in query.aggregates] == aggregates


def test_without_aggregates_nothing_is_grouped():
    query = analysed("(a) RETURN DISTINCT a.x, 1")
    assert (query.aggregating, query.grouping, query.distinct) == (False, (), True)


# ------------------------------------------------------------------ ORDER BY
@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("(a) RETURN a.x AS c ORDER BY a.name DESC", ["a.name DESC"]),
        ("(a) RETURN a.name AS a ORDER BY a", ["#c0"]),
        ("(a) RETURN a.x AS a ORDER BY a.x", ["#c0"]),
        ("(a) RETURN a.x AS a ORDER BY a.y", ["#c0.y"]),
        ("(a), (b) RETURN a.x AS b, b.x AS a ORDER BY b", ["#c0"]),
        ("(a), (b) RETURN a.x AS b, b.x AS a ORDER BY b.x", ["#c1"]),
        ("(a), (b) RETURN a.x AS c, b.x AS a ORDER BY b.x, a.x", ["#c1", "#c0"]),
        ("(a), (b) RETURN a AS b, b AS a ORDER BY a.name", ["#c1.name"]),
        ("(a) RETURN a AS b ORDER BY a.name", ["#c0.name"]),
        ("(a) RETURN DISTINCT a.x AS y ORDER BY a.x = 1", ["#c0 = 1"]),
        ("(a) RETURN DISTINCT a ORDER BY a.name, a:A", ["#c0.name", "#c0:A"]),
        ("(a)-[r]->() RETURN DISTINCT type(r) AS t ORDER BY TYPE( r )", ["#c0"]),
        ("(a) RETURN DISTINCT a.x = 1 AS t ORDER BY ((a.x) = 1)", ["#c0"]),
        ("(a) RETURN a.x, count(*) AS c ORDER BY a.x, count(*) > a.x", ["#c0", "#c1 > #c0"]),
        ("(a) RETURN a, count(a) ORDER BY COUNT(a), a.name", ["#c1", "#c0.name"]),
        ("(a) RETURN a.x AS y, a.x AS z ORDER BY a.x", ["#c0"]),
        ("(a) RETURN 1.0 AS f, 1 AS i ORDER BY 1, true", ["#c1", "true"]),
    ],
)
def test_order_items_are_resolved(text, keys):
    found = [
        readable(key.expression) + (" DESC" if key.descending else "")
        for key in analysed(text).order_by
    ]
    assert found == keys


# ------------------------------------------------------------------ subqueries beside aggregates
def test_a_subquery_beside_an_aggregate_reads_only_keys():
    with pytest.raises(UnsupportedQueryError, match="that reads 'a'") as raised:
        analysed("(a) RETURN a.x, count(*) + COUNT { (b {x: a.x}) } AS n")
    assert raised.value.construct == "a subquery beside an aggregate"
