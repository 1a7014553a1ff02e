"""Expected rows of query graphs with cycles, and of others."""

from itertools import permutations

import pytest
from graphs import make_graph

from gpugda.plan.bind import bind
from gpugda.plan.estimate import estimate
from gpugda.plan.matching_order import make_plan
from gpugda.query.prepare import prepare

CLIQUE = list(permutations(range(100), 2))


@pytest.fixture(scope="module")
def clique():
    """100 nodes that are all joined, both ways, among 2,000."""
    return make_graph([((), {})] * 2000, [(s, "R", e, {"w": 1}) for s, e in CLIQUE])


def bound_query(text, graph):
    return bind(prepare(f"MATCH {text}"), graph)


def rows(text, graph):
    return estimate(make_plan(bound_query(text, graph), graph.statistics, "extend")).rows


FOUR = "(a)-[{0}]->(b)-[{0}]->(c)-[{0}]->(a), (d)-[{0}]->(a), (d)-[{0}]->(b), (d)-[{0}]->(c)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(a)-->(b)-->(c)-->(a) RETURN count(*)", 970_200),
        ("(a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)", 96_000_000),
        (f"{FOUR.format('')} RETURN count(*)", 94_109_400),
        (f"{FOUR.format(':R')} RETURN count(*)", 94_109_400),
        ("(a)--(b)--(c)--(a) RETURN count(*)", 7_761_600),
        (f"{FOUR.format(':S')} RETURN count(*)", 0),
    ],
)
def test_cycles_are_expected_where_neighbours_are_joined(clique, text, expected):
    assert rows(text, clique) == pytest.approx(expected, rel=0.1)


def test_predicates_on_the_closing_relationship_count(clique):
    text = "(a)-->(b)-->(c)-[r]->(a) WHERE r.w = 2 AND r.w > 0 RETURN count(*)"
    assert rows(text, clique) < rows("(a)-->(b)-->(c)-[r]->(a) RETURN count(*)", clique)


@pytest.mark.parametrize(
    "text",
    ["(a)-->(b)-->(c)-->(d) RETURN 1", "(a)-->(b), (c)-->(d), (e) RETURN 1", "(a)-->(a) RETURN 1"],
)
def test_what_has_no_cycle_is_expected_as_ever(clique, text):
    bound = bound_query(text, clique)
    assert {each.closing for each in bound.relationships} == {(0.0, 0.0)}
    assert {each.reached for each in bound.relationships} == {(1.0, 1.0)}


def test_what_hangs_at_a_cycle_is_not_on_it(clique):
    bound = bound_query("(a)-->(b)-->(c)-->(a), (c)-->(d)-->(e), (d)-->(f) RETURN 1", clique)
    assert [each.closing[0] > 0 for each in bound.relationships] == [True] * 3 + [False] * 3
