"""The device joins a Neo4j that was asked first and does not answer."""

from contextlib import closing
from dataclasses import replace

import neo4j
import pytest
from soon import ends_in, soon

import gpugda
from gpugda.answer.routing import Router

SETUP = "UNWIND range(1, 300) AS i CREATE (:P {x: i})"
EDGES = "MATCH (a:P), (b:P) WHERE (a.x + b.x * 7) % 11 = 0 CREATE (a)-[:R]->(b)"
SLOW = (
    "MATCH (a:P)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(e)-[:R]->(f) WHERE a.x < $least "
    "RETURN count(*) AS n"
)


@pytest.fixture
def accelerator(server, monkeypatch):
    """The planner asks Neo4j first, and the device soon after."""
    server.load([SETUP, EDGES])
    decide = Router.decide

    def native(self, *arguments):
        return replace(decide(self, *arguments), engine="native", join_after=0.3)

    monkeypatch.setattr(Router, "decide", native)
    with closing(gpugda.connect(server.uri, auth=server.auth, cache=False)) as opened:
        opened.warm()
        opened.run(SLOW, least=0, engine="gpu")
        yield opened


def test_the_device_answers_while_neo4j_is_at_work(accelerator, server, caplog):
    expected = accelerator.run(SLOW, least=1000, engine="gpu").single()["n"]
    result = accelerator.run(SLOW, least=1000)
    assert result.single()["n"] == expected
    assert result.summary.engine == "gpu"
    assert result.summary.reason == (
        "the database had not answered after 0.3 s; the device answered first"
    )
    running = "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS 'e)-[:R]->(f)'"

    def is_cancelled():
        return not [each for (each,) in server.run(running) if "SHOW" not in each]

    assert soon(is_cancelled), "Neo4j goes on with a query whose answer nobody reads"
    assert not [each for each in caplog.records if each.name.startswith("neo4j")], "not seen"
    # Connections of the pool still work.
    again = accelerator.run("MATCH (a:P) RETURN count(*) AS n", engine="native")
    assert again.single()["n"] == 300


def test_neo4j_answers_if_it_is_in_time(accelerator):
    for _ in range(3):
        result = accelerator.run("MATCH (a:P) WHERE a.x = $x RETURN a.x", x=7)
        assert result.values() == [[7]]
        if result.summary.engine == "native":
            return
    pytest.fail("Neo4j did not answer a look-up within 0.3 s, three times")


def test_neo4js_errors_are_raised(accelerator):
    with pytest.raises(neo4j.exceptions.Neo4jError):
        accelerator.run("MATCH (a:P) RETURN a.x / 0")
    with pytest.raises(neo4j.exceptions.Neo4jError):
        accelerator.run("MATCH (a:P RETURN a")


def test_the_time_limit_ends_both(accelerator):
    with ends_in(), pytest.raises(gpugda.QueryTimeoutError):
        accelerator.run(
            "MATCH (a:P), (b:P), (c:P), (d:P) WHERE a.x * b.x + c.x * d.x = -1 RETURN count(*)",
            timeout=1.0,
        )
