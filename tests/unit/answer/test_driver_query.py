"""Calls and queries in the driver's own form."""

import asyncio

import neo4j
import pytest
from fake_server import FakeServer

import gpugda

TEXT = "MATCH (n {i: $i}) RETURN n.name AS name"


@pytest.fixture(scope="module")
def people():
    graph = gpugda.graph(nodes={"id": [1, 2], "i": [1, 2], "name": ["Ann", "Bo"]})
    with gpugda.connect(graph) as accelerator:
        yield accelerator


def test_execute_query_returns_an_eager_result(people):
    found = people.execute_query(TEXT, {"i": 2})
    assert type(found) is neo4j.EagerResult
    records, summary, keys = found
    assert (records[0]["name"], summary.query_type, keys) == ("Bo", "r", ["name"])
    assert people.execute_query(TEXT, i=1, engine_="reference").summary.engine == "reference"
    assert people.execute_query(TEXT, {"i": 2}, i=1).records[0].data() == {"name": "Ann"}


@pytest.mark.parametrize(
    ("transformer", "expected"),
    [
        (neo4j.Result.values, [["Bo"]]),
        (lambda result: result.single(strict=True)["name"], "Bo"),
        (gpugda.Result.data, [{"name": "Bo"}]),
    ],
)
def test_result_transformers_are_applied(people, transformer, expected):
    assert people.execute_query(TEXT, {"i": 2}, result_transformer_=transformer) == expected


@pytest.mark.parametrize("option", ["routing_", "impersonated_user_", "timout_"])
def test_other_options_are_refused(people, option):
    with pytest.raises(gpugda.ConfigurationError, match=f"no argument '{option}'"):
        people.execute_query(TEXT, i=1, **{option: "r"})
    with pytest.raises(gpugda.ConfigurationError, match="connect to the other"):
        people.execute_query(TEXT, i=1, database_="elsewhere")


def test_a_query_object_sets_the_time_limit(people):
    with pytest.raises(gpugda.QueryTimeoutError):
        people.run(neo4j.Query(TEXT, timeout=1e-9), i=1)
    assert people.run(neo4j.Query(TEXT, timeout=1e-9), i=1, timeout=60).value() == ["Ann"]
    assert people.run(neo4j.Query(TEXT, timeout=0), i=1).value() == ["Ann"]
    assert people.execute_query(neo4j.Query(TEXT), i=2).records[0]["name"] == "Bo"


def test_metadata_reaches_the_server():
    server = FakeServer({1: (("A",), {"i": 1, "name": "Ann"})}, {})
    query = neo4j.Query(TEXT, metadata={"app": "mine"})
    with gpugda.Accelerator(server) as accelerator:
        found = accelerator.run(query, i=1)
        assert (found.summary.engine, found.value()) == ("native", ["Ann"])
        assert server.metadata == {"app": "mine"}
        assert "query log" in found.summary.reason
        assert "query log" in accelerator.try_device(query, {"i": 1}).reason
        accelerator.run(TEXT, i=1, engine="native")
        assert not server.metadata


def test_execute_query_can_be_awaited(people):
    async def ask():
        accelerator = gpugda.AsyncAccelerator(people)
        return (await accelerator.execute_query(neo4j.Query(TEXT), i=2)).records[0]["name"]

    assert asyncio.run(ask()) == "Bo"
