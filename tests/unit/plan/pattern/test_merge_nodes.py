import pytest
from answers import answer
from graphs import make_graph

import gpugda
from gpugda.plan.bind import bind
from gpugda.plan.pattern.merge_nodes import merge_nodes
from tests.one_pattern import query_of


def merged(text):
    return merge_nodes(query_of(text))


def test_a_query_without_equal_nodes_is_unchanged():
    query = query_of("MATCH (a)-[r]->(b), (b)-[s]->(c) WHERE a <> c AND a.x = c.x RETURN a")
    assert merge_nodes(query) is query


def test_equal_nodes_are_merged_with_all_labels_and_conditions():
    query = merged(
        "MATCH (a:A {x: 1})-[:R]->(b:B), (c:C)-[:S]->(d) WHERE b = c AND c.y = 2 RETURN c, d AS e"
    )
    graph = query.graph
    assert [node.name for node in graph.nodes] == ["a", "b", "d"]
    assert [label.name for label in graph.nodes[1].labels] == ["B", "C"]
    assert [(r.source, r.target) for r in graph.relationships] == [(0, 1), (1, 2)]
    assert [column.name for column in query.columns] == ["c", "e"]
    assert query.columns[0].expression.name == "b"
    assert len(graph.predicates) == 2


def test_equality_is_transitive():
    query = merged("MATCH (a), (b), (c), (d) WHERE d = c AND a = b AND b = c RETURN count(*)")
    assert len(query.graph.nodes) == 1
    assert query.graph.predicates == ()


def test_a_repeated_relationship_merges_its_ends():
    query = merged("MATCH (a)-[r]->(b) MATCH (c)<-[r]-(d) RETURN c, d")
    assert len(query.graph.nodes) == 2
    first, second = query.graph.relationships
    assert (first.source, first.target) == (second.source, second.target)
    assert query.columns[0].expression.name == "b"
    assert query.columns[1].expression.name == "a"


def test_a_repeated_undirected_relationship_merges_no_ends():
    query = query_of("MATCH (a)-[r]->(b) MATCH (c)-[r]-(d) RETURN c, d")
    assert merge_nodes(query) is query


def test_equality_under_or_merges_nothing():
    query = query_of("MATCH (a), (b) WHERE a = b OR a.x = 1 RETURN a")
    assert merge_nodes(query) is query


def test_merging_removes_cartesian_products():
    graph = make_graph([("A", {})] * 3, [(0, "R", 1, {}), (1, "R", 2, {})])
    bound = bind(query_of("MATCH (a)-->(b), (c)-->(d) WHERE b = c RETURN a, d"), graph)
    assert not [test for test in bound.tests if test.on_nodes]


QUERIES = [
    "MATCH (a)-[r:R]->(b), (c)-[s:R]->(d) WHERE b = c RETURN a, b, c, d",
    "MATCH (a)-[r]->(b) MATCH (c)-[r]->(d) RETURN a, b, c, d",
    "MATCH (a)-[r]->(b) MATCH (c)-[r]-(d) RETURN a, b, c, d",
    "MATCH (a)-[r]->(b) MATCH (a)<-[r]-(d) RETURN a, b, d",
    "MATCH (a)-[r]->(b) MATCH (c)-[s]->(d) WHERE r = s RETURN a, b, c, d",
    "MATCH (a)-[r]->(b), (c)-[s]->(d) WHERE r = s RETURN a, b, c, d",
    "MATCH (a)-[r]->(b) MATCH (c)-[r]->(d)-[s]->(e) RETURN a, e, s",
    "MATCH (a), (b), (c)-[r]->(d) WHERE NOT a <> b AND b = d RETURN a, b, c, labels(a) AS l",
    "MATCH (a)-->(b), (c)-->(a) WHERE a = b RETURN b, c, count(*) AS n ORDER BY n, b.x, c.x",
    "MATCH (a:A), (b:B) WHERE a = b AND a.x < 3 RETURN b.x, a:A AND b:B",
]


@pytest.mark.parametrize("query", QUERIES)
def test_merging_keeps_the_rows(query):
    nodes = {"id": [0, 1, 2, 3], "labels": ["A", "A:B", "B", None], "x": [1, 2, 3, 4]}
    ends = [(0, 0), (0, 1), (0, 1), (1, 0), (1, 2), (2, 3), (3, 3), (2, 0)]
    relationships = {
        "source": [a for a, _ in ends],
        "target": [b for _, b in ends],
        "type": ["R", "R", "S", "R", "R", "S", "R", "R"],
    }
    with gpugda.connect(gpugda.graph(nodes, relationships)) as accelerator:
        device = accelerator.run(query, engine="gpu").values()
        reference = accelerator.run(query, engine="reference").values()
    assert answer(device) == answer(reference)
