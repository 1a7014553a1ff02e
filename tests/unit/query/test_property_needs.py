"""The properties that a query reads."""

import pytest

from gpugda.query.prepare import prepare
from gpugda.query.reads import property_needs


@pytest.mark.parametrize(
    ("text", "of_nodes", "of_relationships"),
    [
        ("MATCH (a) RETURN count(*)", "", ""),
        ("MATCH (a {x: 1})-[r {y: 2}]->(b {z: 3}) RETURN a", "xz", "y"),
        ("MATCH (a)-[r]->(b) WHERE a.x = r.y RETURN b.z", "xz", "y"),
        ("MATCH (a)-[r]->(b) RETURN a.x, count(DISTINCT r.y)", "x", "y"),
        ("MATCH (a)-[r]->() RETURN a ORDER BY a.x", "x", ""),
        ("MATCH (a)-[r]->() RETURN r ORDER BY r.y", "", "y"),
        ("MATCH (a) RETURN DISTINCT a ORDER BY a.x", "x", ""),
        ("MATCH (a)-[r]->() RETURN DISTINCT r AS s ORDER BY s.y", "", "y"),
        ("MATCH (a) RETURN a, count(*) AS c ORDER BY a.x, c", "x", ""),
        ("MATCH (a)-[r]->() RETURN r, count(*) ORDER BY r.y", "", "y"),
        ("MATCH (a)-[r WHERE r.y > 1]->(b WHERE b.z = 1) RETURN *", "z", "y"),
        ("MATCH (a) RETURN [a.x, [a.z]]", "xz", ""),
        ("MATCH (a) WHERE NOT (a.x IS NULL OR 'q' IN [a.z]) RETURN 1", "xz", ""),
    ],
)
def test_the_properties_that_a_query_needs(text, of_nodes, of_relationships):
    needs = property_needs(prepare(text))
    assert needs.of_nodes == set(of_nodes)
    assert needs.of_relationships == set(of_relationships)
