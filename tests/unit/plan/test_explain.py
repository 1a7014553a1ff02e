"""Plans as text."""

import pytest
from graphs import make_graph

from gpugda.plan.bind import bind
from gpugda.plan.explain import explain_text
from gpugda.plan.join.matching_order import make_plan
from gpugda.plan.physical import estimate
from tests.one_pattern import query_of


@pytest.fixture(scope="module")
def data():
    nodes = [("A", {"x": i}) for i in range(4)] + [("B", {})] * 6
    return make_graph(nodes, [(i, "R", 4 + i, {}) for i in range(4)] + [(4, "S", 5, {})])


def plan(text, data):
    return make_plan(
        bind(query_of(f"MATCH {text}"), data), data.statistics, "gpsm", "there is no other"
    )


def test_an_explanation_is_written_as_text(data):
    text = "(a:A {x: 1})-[r:R]->(b:B)-->({y: 1}) WHERE a.x < b.x AND $p RETURN a"
    assert explain_text(plan(text, data)).splitlines() == [
        "strategy gpsm: there is no other",
        "expected: 0 rows, 0 B for partial embeddings",
        "",
        "query nodes",
        "  (a:A)    0.4 candidates  a.x = 1",
        "  (b:B)    6 candidates",
        "  () (#2)  0 candidates    .y = 1",
        "query relationships",
        "  (a)-[r:R]->(b)  0.4 candidates",
        "  (b)-->(#2)      0 candidates",
        "on each row: [r] <> [#1]",
        "on each row: a.x < b.x",
        "once: $p",
        "steps",
        "  1.  relationships  (b)-->(#2)      0 rows  fewest candidate relationships, 0",
        "  2.  combine        (a)-[r:R]->(b)  0 rows  fewest rows among the connected: 0.1 per row",
    ]


def test_explain_shows_conditions_that_the_join_tests(data):
    query = query_of("MATCH (a)-->(b) WHERE a.x < b.x AND NOT a.x < b.x RETURN a")
    found = explain_text(make_plan(bind(query, data), data.statistics, "extend", compares=True))
    assert "in the join if the values have an order, otherwise on each row: a.x < b.x\n" in found
    assert "\non each row: NOT (a.x < b.x)\n" in found


def test_explain_shows_why_there_are_no_rows_and_warns(data):
    found = explain_text(plan("(a), (b:Nowhere) RETURN a", data))
    assert found.startswith("no rows: No node has the label :Nowhere.")
    assert "warning: This query builds a cartesian product" in found
    assert "steps" not in found


def test_many_distinctness_tests_are_shown_as_a_number(data):
    found = explain_text(plan("(a)-->(b)-->(c)-->(d)-->(e)-->(f) RETURN a", data))
    assert "on each row: 10 pairs of relationships differ" in found


def test_estimated_bytes_count_columns_of_four_bytes(data):
    found = estimate(plan("(a:A)-[:R]->(b) RETURN a", data))
    assert (found.rows, found.bytes, found.seconds) == (4, 4 * 3 * 4, None)
    assert estimate(plan("(a:Nowhere) RETURN a", data)).rows == 0
    assert estimate(plan("(a), (b) RETURN a", data)).bytes == 100 * 2 * 4
