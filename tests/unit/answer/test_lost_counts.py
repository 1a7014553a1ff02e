"""Counts of rows within OPTIONAL MATCH: refused where Neo4j loses a count of 0."""

import pytest
from fake_server import FakeServer, facts

import gpugda
from gpugda.answer.server_only import refuse_lost_counts
from gpugda.errors import UnsupportedQueryError
from gpugda.query.prepare import prepare

COUNT = "COUNT { (c)--(z) WHERE z = a }"


@pytest.mark.parametrize(
    "where",
    [
        f"{COUNT} = a.i - 1",
        f"{COUNT} < 1",
        f"{COUNT} <= 1",
        f"{COUNT} IN [0, 5]",
        f"{COUNT} + 1 = 1",
        f"NOT {COUNT} > a.i - 1",
        f"c.i - 3 >= {COUNT}",
        "COUNT { (c)-->(:N) } = a.i - 1",
        "COUNT { UNWIND [] AS q RETURN q } = a.i - 1",
        "size([(c)--(z) WHERE z = a | z]) = a.i - 1",
        "size(COLLECT { MATCH (c)--(z) WHERE z = a RETURN z.i }) = a.i - 1",
    ],
)
def test_counts_that_may_be_lost_are_refused(where):
    match = f"MATCH (c:N) WHERE {where} RETURN c.i"
    with pytest.raises(UnsupportedQueryError, match="lost by Neo4j if it is 0"):
        refuse_lost_counts(prepare(f"MATCH (a:N {{i: 1}}) OPTIONAL {match}"))
    refuse_lost_counts(prepare(f"MATCH (a:N {{i: 1}}) {match}"))


@pytest.mark.parametrize(
    "where",
    [
        f"{COUNT} = 0",
        f"0 < {COUNT}",
        f"NOT {COUNT} > 0",
        "COUNT { (c)-->() } = a.i - 1",
        "COUNT { (c)<-[:R]-() } > a.i",
        "size([(c)--(z) WHERE z = a | z]) = 0",
        "isEmpty([(c)--(z) WHERE z = a | z.i])",
        "NOT EXISTS { (c)--(z) WHERE z = a }",
        "size(c.l) = 2",
    ],
)
def test_others_are_not(where):
    refuse_lost_counts(prepare(f"MATCH (a:N {{i: 1}}) OPTIONAL MATCH (c:N) WHERE {where} RETURN c"))


def test_counts_are_left_to_a_neo4j_alone():
    query = f"MATCH (a:P) OPTIONAL MATCH (c:P) WHERE {COUNT} = a.n - 1 RETURN c.n"
    nodes = {1: (("P",), {"n": 1})}
    with gpugda.connect(FakeServer(nodes, {}), cache=False) as accelerator:
        assert accelerator.run(query, engine="gpu").values() == [[1]]
    server = FakeServer(nodes, {}, facts=facts(product="Neo4j"))
    with (
        gpugda.connect(server, cache=False) as accelerator,
        pytest.raises(UnsupportedQueryError, match="lost by Neo4j"),
    ):
        accelerator.run(query, engine="gpu")
