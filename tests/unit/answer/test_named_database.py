"""USE of the connected database, and of others."""

from __future__ import annotations

import pytest
from fake_server import FakeServer

import gpugda
from gpugda.answer.projection import refuse_other_databases
from gpugda.errors import UnsupportedQueryError
from gpugda.query.prepare import prepare

NODES = {1: (("P",), {"n": 1}), 2: (("P",), {"n": 2})}


@pytest.mark.parametrize(
    ("text", "database"),
    [
        ("USE neo4j MATCH (n) RETURN n", "neo4j"),
        ("USE Movies MATCH (n) RETURN n UNION USE movies MATCH (n) RETURN n", "movies"),
        ("CALL () { USE neo4j MATCH (n) RETURN n } RETURN n", "neo4j"),
        ("MATCH (n) RETURN n", ""),
    ],
)
def test_use_of_the_own_database_is_accepted(text, database):
    refuse_other_databases(prepare(text), database)


@pytest.mark.parametrize(
    ("text", "database"),
    [
        ("USE other MATCH (n) RETURN n", "neo4j"),
        ("USE neo4j MATCH (n) RETURN n UNION USE other MATCH (n) RETURN n", "neo4j"),
        ("USE graph.byName('neo4j') MATCH (n) RETURN n", "neo4j"),
        ("USE neo4j MATCH (n) RETURN n", ""),
    ],
)
def test_use_of_another_database_is_refused(text, database):
    with pytest.raises(UnsupportedQueryError, match="USE of another database"):
        refuse_other_databases(prepare(text), database)


def test_use_is_checked_on_a_server():
    server = FakeServer(NODES, {})
    name = server.facts.database
    with gpugda.connect(server, cache=False) as accelerator:
        query = f"USE {name} MATCH (n:P) RETURN n.n ORDER BY n.n"
        assert accelerator.run(query, engine="gpu").values() == [[1], [2]]
        with pytest.raises(UnsupportedQueryError, match="USE"):
            accelerator.run("USE nowhere MATCH (n) RETURN n", engine="gpu")


def test_use_is_refused_on_an_embedded_graph():
    with (
        gpugda.connect(gpugda.graph(nodes={"id": [1]})) as accelerator,
        pytest.raises(UnsupportedQueryError, match="USE"),
    ):
        accelerator.run("USE neo4j MATCH (n) RETURN n")
