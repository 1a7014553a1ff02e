"""Query graphs of MATCH clauses. What is accepted here was checked on Neo4j 5.26."""

import pytest

from gpugda.query.render import expression_text
from tests.one_pattern import query_of


def graph(text):
    return query_of(f"MATCH {text} RETURN 1").graph


def predicates(text):
    return [expression_text(each) for each in graph(text).predicates]


# ------------------------------------------------------------------ the query graph
def test_occurrences_of_a_node_are_combined():
    found = graph("(a:A {x: 1})-->(b), (a:B&C {y: 2}) MATCH (b)-->(a:A)")
    assert [label.name for label in found.nodes[0].labels] == ["A", "B", "C"]
    assert len(found.nodes) == 2
    assert predicates("(a:A {x: 1})-->(b), (a:B&C {y: 2})") == ["a.x = 1", "a.y = 2"]


@pytest.mark.parametrize(
    ("pattern", "ends"),
    [
        ("(a)-[r]->(b)", (0, 1, True)),
        ("(a)<-[r]-(b)", (1, 0, True)),
        ("(a)-[r]-(b)", (0, 1, False)),
        ("(a)-[r]->(a)", (0, 0, True)),
        ("(a)<-[r]->(b)", (0, 1, False)),
    ],
)
def test_directions_are_analysed(pattern, ends):
    relationship = graph(pattern).relationships[0]
    assert (relationship.source, relationship.target, relationship.directed) == ends


def test_relationships_know_their_clause_and_earlier_occurrence():
    found = graph(
        "(n) MATCH (a)-[r]->(b)-[s]->(c) MATCH (c)-[r]-(d), (d)-[t]->(a) MATCH ()-[r]->()"
    )
    places = [(r.name, r.clause, r.same_as) for r in found.relationships[:4]]
    assert places == [("r", 0, None), ("s", 0, None), ("r", 1, 0), ("t", 1, None)]
    assert found.relationships[4].same_as == 0
    assert found.no_rows is None


def test_a_relationship_variable_twice_in_one_clause_gives_no_rows():
    assert "`r`" in (graph("(a)-[r]->(b), (c)-[r]->(d)").no_rows or "")
    assert "`r`" in (graph("(a)-[r]->(b) MATCH (c)-[r]->(d)-[r]-(e)").no_rows or "")


def test_conditions_become_conjuncts_in_order():
    text = (
        "(a {x: 1, y: b.y} WHERE a.z AND b.z)-[r {w: 1}]->(b)"
        " WHERE a.u AND (b.u OR r.u) AND (a.v AND b.v)"
    )
    assert predicates(text) == [
        "a.x = 1",
        "a.y = b.y",
        "a.z",
        "b.z",
        "r.w = 1",
        "a.u",
        "b.u OR r.u",
        "a.v",
        "b.v",
    ]
