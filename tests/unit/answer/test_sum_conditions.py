"""Sums as conditions: left to Neo4j."""

import pytest
from fake_server import FakeServer, facts

import gpugda
from gpugda.answer.server_only import refuse_sums_as_conditions
from gpugda.errors import UnsupportedQueryError
from gpugda.query.prepare import prepare


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:N) WHERE n.i + 1 RETURN n.i",
        "MATCH (n:N) WHERE n.l + 1 RETURN n.i",
        "MATCH (n:N WHERE n.s + 'a') RETURN n.i",
        "MATCH (n:N)-[r WHERE r.w + 1]->() RETURN n.i",
        "MATCH (n:N) WITH n.i AS x WHERE x + 1 RETURN x",
        "MATCH (n:N) WHERE (n.i + 1) AND true RETURN n.i",
        "MATCH (n:N) RETURN (n.l + 1) AND true AS q",
        "CYPHER 25 MATCH (n:N) FILTER n.l + 1 RETURN n.i",
        "MATCH (n:N) RETURN COUNT { (n)-->(m) WHERE m.i + 1 } AS c",
    ],
)
def test_sums_alone_are_refused(text):
    with pytest.raises(UnsupportedQueryError, match="a sum as a condition"):
        refuse_sums_as_conditions(prepare(text))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:N) WHERE n.i + 1 = 2 RETURN n.i + 1",
        "MATCH (n:N) WHERE n.i = 1 AND n.l + 1 RETURN n.i",
        "MATCH (n:N) WHERE NOT (n.l + 1) RETURN n.i",
    ],
)
def test_other_conditions_are_not(text):
    refuse_sums_as_conditions(prepare(text))


def test_they_are_left_to_a_neo4j():
    server = FakeServer({1: (("P",), {"l": [1]})}, {}, facts=facts(product="Neo4j"))
    with (
        gpugda.connect(server, cache=False) as accelerator,
        pytest.raises(UnsupportedQueryError, match="a sum as a condition"),
    ):
        accelerator.run("MATCH (n:P) WHERE n.l + 1 RETURN n.l", engine="gpu")
