"""A program gives the same results with the plain and with the accelerated driver."""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import neo4j
import pytest
from neo4j.exceptions import ClientError, CypherSyntaxError, ResultConsumedError, SessionError

import gpugda
import gpugda.accelerate.entry

pytestmark = pytest.mark.neo4j

GRAPH = [
    "UNWIND range(0, 119) AS i CREATE (:Person {i: i, name: 'p' + i, born: date('2000-01-01')})",
    """UNWIND range(0, 119) AS i UNWIND [1, 5, 11, 17, 29, 43] AS step
    MATCH (a:Person {i: i}), (b:Person {i: (i * step + step) % 120})
    CREATE (a)-[:KNOWS {step: step}]->(b)""",
]
TRIANGLES = "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(a) RETURN count(*) AS n"
ROWS = "MATCH (a:Person)-[r:KNOWS]->(b)-[:KNOWS]->(a) WHERE a.i < 40 RETURN a, r, b.name AS name"
OWN = "MATCH (a:Own)-[:KNOWS]->(b) RETURN count(*) AS n"


def fresh():
    """Makes query texts that the server has not planned yet, so that the device pays off."""
    numbers = itertools.count()
    return lambda text: f"{text} // {next(numbers)}"


def comparable(records):
    return sorted(str([described(value) for value in record]) for record in records)


def described(value):
    # Not by data(): its relationship ends have the properties that other rows loaded.
    if isinstance(value, neo4j.graph.Node):
        return value.element_id, sorted(value.labels), sorted(value.items())
    if isinstance(value, neo4j.graph.Relationship):
        ends = [node.element_id for node in value.nodes]
        return value.element_id, value.type, ends, sorted(value.items())
    return value


def program(driver, new):
    """Reads and writes in all ways that a driver offers."""
    out = []
    records, summary, keys = driver.execute_query(new(TRIANGLES))
    out += [records[0]["n"], keys, summary.counters.contains_updates, summary.query_type]
    out.append(driver.execute_query(new(TRIANGLES), result_transformer_=neo4j.Result.value))
    found = driver.execute_query(new(ROWS), routing_="r", result_transformer_=neo4j.Result.to_df)
    out += [found.shape, list(found.columns), sorted(found["name"])]
    with driver.session() as session:
        out.append(comparable(session.run(new(ROWS))))
        out.append(
            session.run(new("MATCH (a:Person {i: $i}) RETURN a.born AS b"), i=3).single()["b"]
        )
        session.run("CREATE (:Own)-[:KNOWS]->(:Own)")
        out.append(session.run(new(OWN)).single()["n"])
        out.append(session.execute_read(lambda tx: tx.run(new(OWN)).single()["n"]))
        session.execute_write(lambda tx: tx.run("CREATE (:Own)-[:KNOWS]->(:Own)").consume())
        out.append(session.run(new(OWN)).single()["n"])
        bookmarks = session.last_bookmarks()
    with driver.session(bookmarks=bookmarks, default_access_mode="READ") as session:
        out.append(session.run(new(OWN)).single()["n"])
        with session.begin_transaction() as transaction:
            out.append(transaction.run(new(TRIANGLES)).single()["n"])
            out.append(sorted(transaction.run("CALL db.labels()").value()))
            out.append(transaction.run(new(OWN)).single()["n"])
    with driver.session() as session, session.begin_transaction() as transaction:
        transaction.run("CREATE (:Own)-[:KNOWS]->(:Own)")
        out.append(transaction.run(new(OWN)).single()["n"])
        transaction.rollback()
    out.append(driver.execute_query(new(OWN)).records[0]["n"])
    driver.execute_query("MATCH (n:Own) DETACH DELETE n")
    out.append(driver.execute_query(new(OWN)).records[0]["n"])
    out += mistakes(driver, new)
    return out


def mistakes(driver, new):
    out = []
    with driver.session() as session:
        kept = session.run(new(TRIANGLES))
        for text in ("MATCH (n RETURN n", "RETURN 1/0 AS x", "MATCH (n) RETURN $missing"):
            try:
                session.run(text).consume()
            except ClientError as error:
                out.append((type(error), error.code))
        kept = session.run(new(ROWS))
    for function in (kept.values, lambda: session.run(TRIANGLES)):
        try:
            out.append(function())
        except (ResultConsumedError, SessionError) as error:
            out.append(type(error))
    assert out[0][0] is CypherSyntaxError
    assert out[-2:] == [ResultConsumedError, SessionError]
    return out


@pytest.fixture
def graph(server, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path))
    server.load(GRAPH)
    return server


def plain_driver(server):
    return neo4j.GraphDatabase.driver(
        server.uri, auth=server.auth, notifications_min_severity="OFF"
    )


def warm(driver, new):
    """Compiles the kernels: before, the planner may estimate that the device takes too long."""
    for _ in range(30):
        driver.execute_query(new(TRIANGLES))
        if driver.gpugda.tally.accelerated > 1:
            return
    pytest.fail(f"nothing was accelerated: {driver.gpugda.tally}")


@pytest.mark.slow
def test_a_program_is_accelerated(graph):
    with plain_driver(graph) as driver:
        expected = program(driver, fresh())
    with gpugda.accelerate(plain_driver(graph)) as driver:
        assert driver.gpugda.wait(None, 60)
        assert isinstance(driver, neo4j.Driver)
        new = fresh()
        warm(driver, new)
        before = driver.gpugda.tally.accelerated
        assert program(driver, new) == expected
        assert driver.gpugda.tally.accelerated > before, str(driver.gpugda.tally)
        driver.verify_connectivity()


def test_a_program_runs_while_the_snapshot_is_read(graph):
    with plain_driver(graph) as driver:
        expected = program(driver, fresh())
    with gpugda.accelerate(plain_driver(graph)) as driver:
        assert program(driver, fresh()) == expected


def test_a_lenient_snapshot_is_never_older_than_the_bookmarks(graph):
    new = fresh()
    with gpugda.accelerate(plain_driver(graph), freshness="max_age=1h") as driver:
        assert driver.gpugda.wait(None, 60)
        warm(driver, new)
        with driver.session() as session:
            for expected in range(1, 4):
                session.run("CREATE (:Own)-[:KNOWS]->(:Own)").consume()
                assert session.run(new(OWN)).single()["n"] == expected
            before = driver.gpugda.tally.accelerated
            for _ in range(100):  # the snapshot is reloaded although it is less than an hour old
                assert session.run(new(OWN)).single()["n"] == 3
                if driver.gpugda.tally.accelerated > before:
                    break
                time.sleep(0.1)
            assert driver.gpugda.tally.accelerated > before, str(driver.gpugda.tally)


async def asynchronous_program(driver, new):
    out = []
    records, _, keys = await driver.execute_query(new(TRIANGLES))
    out += [records[0]["n"], keys]
    to_value = neo4j.AsyncResult.value
    out.append(await driver.execute_query(new(TRIANGLES), result_transformer_=to_value))
    async with driver.session() as session:
        result = await session.run(new(ROWS))
        out.append(comparable([record async for record in result]))
        await session.run("CREATE (:Own)-[:KNOWS]->(:Own)")
        result = await session.run(new(OWN))
        out.append((await result.single())["n"])

        async def work(tx):
            return (await (await tx.run(new(TRIANGLES))).single(strict=True))["n"]

        out.append(await session.execute_read(work))
    async with (
        driver.session(default_access_mode="READ") as session,
        await session.begin_transaction() as transaction,
    ):
        out.append(await (await transaction.run(new(OWN))).data())
        left = await transaction.run(new(TRIANGLES))
    try:
        await left.values()
    except ResultConsumedError as error:
        out.append(type(error))
    await driver.execute_query("MATCH (n:Own) DETACH DELETE n")
    together = [driver.execute_query(new(TRIANGLES)) for _ in range(5)]
    out += [(await each).records[0]["n"] for each in asyncio.as_completed(together)]
    return out


def test_an_asynchronous_program_is_accelerated(graph):
    def make():
        return neo4j.AsyncGraphDatabase.driver(
            graph.uri, auth=graph.auth, notifications_min_severity="OFF"
        )

    async def both():
        async with make() as driver:
            expected = await asynchronous_program(driver, fresh())
        async with gpugda.accelerate(make()) as driver:
            assert await asyncio.to_thread(driver.gpugda.wait, None, 60)
            new = fresh()
            for _ in range(30):
                if not driver.gpugda.tally.accelerated:
                    await driver.execute_query(new(TRIANGLES))
            found = await asynchronous_program(driver, new)
            return expected, found, driver.gpugda.tally

    expected, found, tally = asyncio.run(both())
    assert found == expected
    assert tally.accelerated > 0, str(tally)


@pytest.mark.slow
def test_a_script_is_accelerated(graph, tmp_path):
    script = tmp_path / "script.py"
    auth = f"auth={graph.auth!r}"
    script.write_text(
        "import sys\nfrom neo4j import GraphDatabase\n"
        f"with GraphDatabase.driver({graph.uri!r}, {auth}) as driver:\n"
        f"    records, summary, keys = driver.execute_query({TRIANGLES!r} + ' // ' + sys.argv[1])\n"
        "    print(records, keys)\n"
        "    driver.execute_query('MATCH (n RETURN n')\n"
    )
    outcomes = []
    for number, options in enumerate(([], ["-m", "gpugda.accelerate", "--load", "now", "-v"])):
        command = [sys.executable, *options, str(script), str(number)]
        environment = {**os.environ, "GPUGDA_CACHE_DIR": str(tmp_path)}
        outcomes.append(
            subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
        )
    plain, ours = outcomes
    assert (plain.returncode, plain.stdout) == (ours.returncode, ours.stdout)
    shown, _, told = ours.stderr.rpartition("gpugda: ")
    assert shown == plain.stderr
    assert re.match(r"driver: [01] accelerated, [12] passed through", told), told


def test_writes_of_others_are_visible_at_once(graph):
    new = fresh()
    with gpugda.accelerate(plain_driver(graph)) as driver:
        assert driver.gpugda.wait(None, 60)
        before = driver.execute_query(new(TRIANGLES)).records[0]["n"]
        for more in range(1, 6):
            graph.run("CREATE (a:Person)-[:KNOWS]->(a)")
            graph.run("MATCH (a:Person) WHERE a.i IS NULL CREATE (a)-[:KNOWS]->(a)-[:KNOWS]->(a)")
            expected = graph.run(TRIANGLES)[0]["n"]
            assert driver.execute_query(new(TRIANGLES)).records[0]["n"] == expected, more
        assert expected > before


def test_the_example_of_the_documentation_runs(graph, tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "accelerate.md").read_text(encoding="utf-8")
    script = tmp_path / "example.py"
    script.write_text(text.partition("```python\n")[2].partition("```")[0])
    environment = {**os.environ, "NEO4J_URI": graph.uri, "GPUGDA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.stderr == ""
    triangles, nodes, tally = done.stdout.splitlines()
    assert int(triangles) == graph.run(TRIANGLES)[0]["n"]
    assert (nodes, "passed through" in tally) == ("120", True)
