"""Query graphs from text and from Python."""

import pytest
from hypothesis import given

from gpugda.errors import ConfigurationError
from gpugda.query.query_graph import QueryGraph, is_anonymous
from strategies import query_texts
from tests.one_pattern import query_of


def graph(text):
    return query_of(f"MATCH {text} RETURN 1").graph


# ------------------------------------------------------------------ round trips
@pytest.mark.parametrize(
    "pattern",
    [
        "()",
        "(), (:A), (a), ()",
        "(a)-->()-->(b)<--()",
        "(a)<--()-->(b)",
        "(a), (a)<--()-->(b)",
        "(a), (b), (a)-->(c)",
        "(a), (b), (c), (c)-->(a), (d)--(b)",
        "(a), (b), (b)--(a)--(b)-[r]->(a), (a)-->(a)",
        "()-->(), ()--()<--()",
        "(a)-->(b)-->(c)-->(a), (a)-->(b)",
        "(a)-[r]->(b) MATCH (c)-[r]-(d), (c)-->(b)",
        "(a)-[r]->(b), (b)-[r]->(c)",
        "(a:A), (a:B|C), (a:A&!D)-[:R|S]-(:`odd ``label`&%)",
        "(a)-[:!R&(S|T)]->()-[:%]->(`where`:`match`)",
        "({x: 1, y: 'it''s'})".replace("''", "\\'"),
        "(a)-[{x: 1}]->({y: a.x}), (b {z: null})<-[r {w: [1, 1.5, 'x', true]}]-()",
        "(a)<-[{x: 1}]-({y: 1}) MATCH ({x: 2})--(a)",
        "(a) WHERE a.x = 1 OR a.y = 2 AND NOT a.z XOR a:A",
        "(a) WHERE (a.x = 1 AND a.y) AND (1 < a.x <= 3) AND a.`odd key` IN [1, [2], $p, $`q r`]",
        "(a) WHERE a.name STARTS WITH 'é\\n\\t\\\\' AND (a.x = 1) IS NOT NULL AND a.x IS NULL",
        "(a)-[r]->(b) WHERE (r:R|S OR a:A&B) AND id(a) < id(b) AND type(r) = 'R' AND a <> b",
        "(a) WHERE a.x = -1 OR a.x > 1e300 OR a.x < -0.0 OR a.x = 9223372036854775807",
        "(a WHERE true), ( WHERE true) WHERE null",
        "(b) WHERE b:C:D AND NOT b:C:D MATCH (a:A|B)--(b)",
    ],
)
def test_the_text_of_a_query_graph_is_analysed_back(pattern):
    found = graph(pattern)
    again = query_of(found.to_cypher()).graph
    assert str(again) == str(found)
    anonymous = [is_anonymous(node.name) for node in found.nodes]
    assert [is_anonymous(node.name) for node in again.nodes] == anonymous


@given(query_texts())
def test_the_text_of_random_query_graphs_is_analysed_back(case):
    found = query_of(case.text).graph
    assert str(query_of(found.to_cypher()).graph) == str(found)


def test_the_text_of_a_query_graph_is_readable():
    found = graph("(a:A {x: 1})-[r:R]->()<-[:S|T]-(c) WHERE a.y > c.y OR c.z")
    assert found.to_cypher() == (
        "MATCH (a:A)-[r:R]->()<-[:S|T]-(c)\n"
        "WHERE a.x = 1 AND ((a.y > c.y) OR c.z)\n"
        "RETURN a, c, r"
    )  # fmt: skip
    assert str(found).splitlines() == [
        "query graph",
        "  node 0: (a:A)",
        "  node 1: ()",
        "  node 2: (c)",
        "  relationship 0: (a)-[r:R]->(1)",
        "  relationship 1: (c)-[:S|T]->(1)",
        "  predicate: a.x = 1",
        "  predicate: (a.y > c.y) OR c.z",
    ]


def test_without_names_rows_are_counted():
    text = graph("()-->()").to_cypher()
    assert text == "MATCH ()-->()\nRETURN count(*)"
    assert query_of(text).aggregating


# ------------------------------------------------------------------ the builder
def test_the_builder_makes_a_query_graph():
    builder = QueryGraph.builder()
    a = builder.node("a", labels=["A", "B"], where={"name": "x", "tags": ["u", 1]})
    b = builder.node("b", labels="C")
    nobody = builder.node()
    builder.relationship(a, b, types=["KNOWS", "LIKES"], name="r", where={"w": 1.5})
    builder.relationship(nobody, b, types="LIKES", directed=False, where={"w": None})
    found = builder.build()
    assert found.to_cypher() == (
        "MATCH (a:A&B)-[r:KNOWS|LIKES]->(b:C), ()-[:LIKES {w: null}]-(b)\n"
        "WHERE a.name = 'x' AND a.tags = ['u', 1] AND r.w = 1.5\n"
        "RETURN a, b, r"
    )
    assert str(query_of(found.to_cypher()).graph) == str(found)


def test_the_builder_refuses_impossible_queries():
    builder = QueryGraph.builder()
    with pytest.raises(ConfigurationError, match="needs a node"):
        builder.build()
    a = builder.node("a")
    with pytest.raises(ConfigurationError, match="taken"):
        builder.node("a")
    with pytest.raises(ConfigurationError, match="cannot be the name"):
        builder.node("")
    with pytest.raises(ConfigurationError, match="64 bits"):
        builder.node("b", where={"x": 2**63})
    with pytest.raises(ConfigurationError, match="dict"):
        builder.node("b", where={"x": {}})
    with pytest.raises(ConfigurationError, match="labels must be names"):
        builder.node("b", labels=[""])
    with pytest.raises(ConfigurationError, match="not a node of this builder"):
        builder.relationship(a, QueryGraph.builder().node("a"))
    assert len(builder.build().nodes) == 1


def test_the_builder_requires_names_that_cypher_needs():
    builder = QueryGraph.builder()
    middle = builder.node()
    for name in "abc":
        builder.relationship(middle, builder.node(name))
    with pytest.raises(ConfigurationError, match="position 0 has too many"):
        builder.build()
