"""`gpugda serve` before a Neo4j: the same answers as without it, sooner."""

import datetime
import threading
import time

import neo4j
import pytest
from answers import comparable
from bolt_client import BoltClient, served
from neo4j.exceptions import ClientError, Neo4jError
from soon import soon
from tcp_proxy import TcpProxy

from gpugda.serve.messages import Tag

pytestmark = pytest.mark.neo4j

NODES = "UNWIND range(0, 299) AS i CREATE (:P {i: i, name: 'p' + i})"
EDGES = (
    "MATCH (a:P), (b:P) WHERE b.i IN [(a.i * 7 + 1) % 300, (a.i * 11 + 2) % 300] "
    "CREATE (a)-[:K {w: a.i}]->(b)"
)
COUNT = "MATCH (a:P)-[:K]->(b)-[:K]->(c) RETURN count(*) AS n"
GPU = {"gpugda": "gpu"}


@pytest.fixture(scope="module")
def server(writable_server):
    return writable_server


@pytest.fixture(scope="module")
def front(server):
    """One for all tests, as each new one reads the graph first: no test changes :P and :K."""
    server.wipe()
    server.load([NODES, EDGES])
    with served(server.uri, reader=server.auth, cache=False) as made:
        yield made


@pytest.fixture(scope="module")
def driver(front, server):
    with neo4j.GraphDatabase.driver(f"neo4j://{front.address}", auth=server.auth) as made:
        yield made


@pytest.fixture(scope="module")
def direct(server):
    with neo4j.GraphDatabase.driver(server.uri, auth=server.auth) as made:
        yield made


def on_device(driver, query, **parameters):
    """The records of the device, once it has a snapshot."""

    def asked():
        with driver.session() as session:
            result = session.run(neo4j.Query(query, metadata=GPU), parameters)
            return list(result), result.consume()

    records, summary = asked()
    assert summary.metadata["gpugda"]["engine"] == "gpu"
    return records, summary


OPERATIONS = [
    "MATCH (a:P {i: 7})-[r:K]->(b) RETURN a, r, b, labels(a), type(r), properties(r)",
    "MATCH p = (a:P {i: 7})-[:K*1..2]->(b) RETURN p, length(p)",
    "RETURN date('2020-02-29'), time('10:00:00.000000001+01:00'), localtime('23:59'), "
    "datetime('2020-07-01T00:00[Europe/Berlin]'), datetime('2020-01-01T00:00Z'), "
    "localdatetime('1969-12-31T23:59:59.999999999'), duration('P1Y2M3DT4.000000005S')",
    "RETURN point({x: 1.5, y: -2}), point({longitude: 1, latitude: 2, height: 3})",
    "RETURN 9223372036854775807 AS big, -1 AS small, 1.5e300 AS f, 0.0/0.0 AS nan, null AS nothing",
    "RETURN [1, [2, [3, {a: [null]}]]] AS nested, {a: {b: {c: 'x'}}} AS map, '' AS empty, 'äß€😀' AS t",
    "RETURN $bytes AS b, $when AS w, $list AS l",
    "UNWIND range(1, 3000) AS x RETURN x, toString(x) AS t",
    "CREATE (n:New {i: 1}) RETURN n.i",
    "MATCH (n:New) SET n.j = 2 RETURN n.j",
    "MERGE (n:New {i: 5}) ON CREATE SET n.k = 3 RETURN n.k",
    "MATCH (n:New) DETACH DELETE n",
    "MATCH (n:P) RETURN n.i ORDER BY n.i SKIP 5 LIMIT 3",
    "SHOW DATABASES YIELD name RETURN name",
    "CALL db.labels() YIELD label RETURN label ORDER BY label",
    "EXPLAIN MATCH (n:P) RETURN n",
    "PROFILE MATCH (n:P) RETURN count(n)",
    "MATCH (n:NoSuchLabel) RETURN n.noSuchKey",
    "CREATE INDEX serve_test IF NOT EXISTS FOR (n:P) ON (n.i)",
    "DROP INDEX serve_test IF EXISTS",
]
PARAMETERS = {
    "bytes": b"\x00\xff" * 300,
    "when": datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
    "list": [1, "a", None, 2.5, True],
}


def told(result):
    """What an answer says, without what differs from run to run."""
    summary = result.summary
    return (
        [[comparable_path(value) for value in record.values()] for record in result.records],
        result.keys,
        summary.query_type,
        summary.database,
        vars(summary.counters),
        [each.gql_status for each in summary.gql_status_objects],
        bool(summary.plan),
        bool(summary.profile),
    )


def comparable_path(value):
    if type(value).__name__ == "Path":
        return [*map(comparable, value.nodes), *map(comparable, value.relationships)]
    return repr(comparable(value))


def test_every_operation_gives_what_neo4j_gives(driver, direct):
    for query in OPERATIONS:
        through = driver.execute_query(query, PARAMETERS)
        if not query.startswith(("CREATE", "MERGE", "MATCH (n:New)", "DROP")):
            assert told(through) == told(direct.execute_query(query, PARAMETERS)), query
    assert direct.execute_query("MATCH (n:New) RETURN count(n) AS n").records[0]["n"] == 0


def test_errors_are_neo4js(driver, direct):
    for query in ("RETUR 1", "RETURN $x", "RETURN 1 / 0", "CALL no.such()", "MATCH (n) RETURN m"):
        errors = []
        for one in (driver, direct):
            with pytest.raises(Neo4jError) as caught:
                one.execute_query(query)
            errors.append((caught.value.code, caught.value.message, caught.value.gql_status))
        assert errors[0] == errors[1]


def test_the_device_answers_with_neo4js_metadata(driver, direct):
    driver.execute_query("RETURN 1")  # the home database is known
    assert soon(lambda: ready(driver))
    records, summary = on_device(driver, COUNT)
    assert [list(each) for each in records] == [[1200]]
    assert (summary.query_type, summary.database) == ("r", "neo4j")
    assert [each.gql_status for each in summary.gql_status_objects] == ["00000"]
    query = "MATCH p = (a:P {i: $i})-[r:K]->(b) RETURN a, r, b, p, a.name ORDER BY b.i"
    records, _ = on_device(driver, query, i=7)
    expected = direct.execute_query(query, i=7).records
    rows = [
        [[comparable_path(v) for v in each.values()] for each in r] for r in (records, expected)
    ]
    assert rows[0] == rows[1]


def ready(driver):
    try:
        return bool(on_device(driver, "MATCH (n) RETURN count(*)"))
    except Neo4jError:
        return False


def test_a_read_sees_every_write_before_it(driver, direct):
    assert soon(lambda: ready(driver))
    query = "MATCH (a:P)-[:K]->(b)-[:L]->(c) RETURN count(*) AS n"
    for number in range(1, 6):
        writer = driver if number % 2 else direct
        writer.execute_query("MATCH (a:P {i: 0}), (b:P {i: 1}) CREATE (a)-[:L]->(b)")
        ((expected,),) = direct.execute_query(query).records
        records, _ = on_device(driver, query)
        assert records[0]["n"] == expected == 2 * number


def test_a_transaction_that_may_write_is_neo4js(driver):
    assert soon(lambda: ready(driver))
    with driver.session() as session, session.begin_transaction(metadata=GPU) as transaction:
        transaction.run("CREATE (:P {i: 1000})")
        result = transaction.run("MATCH (n:P) RETURN count(n) AS n")
        assert result.single()["n"] == 301
        assert "gpugda" not in result.consume().metadata
        transaction.rollback()


def test_a_read_transaction_mixes_both(driver):
    assert soon(lambda: ready(driver))
    with (
        driver.session(default_access_mode="READ", fetch_size=10) as session,
        session.begin_transaction(metadata=GPU) as transaction,
    ):
        first = transaction.run("MATCH (n:P) RETURN n.i AS i ORDER BY i")
        second = transaction.run("MATCH (n:P) RETURN n.i AS i ORDER BY i DESC")
        third = transaction.run("/* gpugda: native */ UNWIND range(1, 50) AS x RETURN x")
        fourth = transaction.run("MATCH (n:P) RETURN count(n) AS n")  # Neo4j's from here on
        rows = list(zip(third, first, second, strict=False))
        assert [each["x"] for each, _, _ in rows] == list(range(1, 51))
        assert [(a["i"], b["i"]) for _, a, b in rows][49] == (49, 250)
        assert fourth.single()["n"] == 300
        assert len(list(first)) == 250
        engines = [each.consume().metadata.get("gpugda") for each in (first, second, third)]
        assert [bool(each) for each in engines] == [True, True, False]


def test_bookmarks_chain(driver, direct):
    assert soon(lambda: ready(driver))
    with driver.session() as session:
        session.run("CREATE (:B {i: 2000})").consume()
        bookmarks = session.last_bookmarks()
    with driver.session(bookmarks=bookmarks) as session:
        result = session.run(neo4j.Query("MATCH (n:B) RETURN count(n) AS n", metadata=GPU))
        assert result.single()["n"] == 1
    with direct.session() as session:
        session.run("CREATE (:B {i: 2001})").consume()
        unknown = session.last_bookmarks()
    with driver.session(bookmarks=unknown) as session:
        result = session.run("MATCH (n:B) RETURN count(n) AS n")
        assert result.single()["n"] == 2
        assert "gpugda" not in result.consume().metadata


def test_metadata_for_the_query_log_goes_to_neo4j(driver):
    assert soon(lambda: ready(driver))
    with driver.session() as session:
        result = session.run(neo4j.Query(COUNT, metadata={"app": "x", "gpugda": "gpu"}))
        assert "gpugda" not in result.consume().metadata


def test_routing_names_this_server(front, driver):
    with BoltClient(front.address) as client:
        table = client.ask(Tag.ROUTE, {}, [], {})
    assert table[0] == Tag.SUCCESS
    addresses = {each["addresses"][0] for each in table[1]["rt"]["servers"]}
    assert addresses == {front.address}


def test_a_wrong_password_is_refused_by_neo4j(front, server):
    if server.auth is None:
        pytest.skip("this server has no authentication")
    driver = neo4j.GraphDatabase.driver(f"bolt://{front.address}", auth=("neo4j", "wrong"))
    with driver, pytest.raises(neo4j.exceptions.AuthError):
        driver.verify_connectivity()


def test_reset_ends_a_query_of_neo4j(front):
    with BoltClient(front.address) as client:
        query = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a * b)"
        client.send(Tag.RUN, query, {}, {})
        client.send(Tag.PULL, {"n": -1})
        time.sleep(0.3)
        client.send(Tag.RESET)
        tags = [client.receive().tag]
        while tags[-1] != Tag.SUCCESS or len(tags) < 3:
            tags.append(client.receive().tag)
        assert tags[-1] == Tag.SUCCESS
        client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
        assert client.rows()[0] == [[1]]


def test_a_neo4j_that_goes_away_and_comes_back(server):
    host, _, port = server.uri.rpartition("/")[2].rpartition(":")
    with TcpProxy(int(port)) as proxy, served(f"bolt://{host}:{proxy.port}") as front:
        client = BoltClient(front.address)
        client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
        proxy.cut()
        assert client.is_closed()
        client.close()
        with BoltClient(front.address) as again:
            again.ask(Tag.RUN, "RETURN 2 AS x", {}, {})
            assert again.rows()[0] == [[2]]


def test_before_neo4j_is_there_clients_are_closed(caplog):
    with served("bolt://127.0.0.1:1") as front, pytest.raises((EOFError, ConnectionResetError)):
        BoltClient(front.address, hello=False)
    assert "cannot be reached" in caplog.text


def test_readers_and_writers(front, server):
    """Each reader sees counts that only grow, as each write adds one."""
    failures, stop = [], threading.Event()
    query = "MATCH (n:W) RETURN count(n) AS n"

    def read():
        try:
            with neo4j.GraphDatabase.driver(f"bolt://{front.address}", auth=server.auth) as driver:
                last = 0
                while not stop.is_set():
                    now = driver.execute_query(query, routing_="r").records[0]["n"]
                    assert now >= last
                    last = now
        except Exception as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    with neo4j.GraphDatabase.driver(f"bolt://{front.address}", auth=server.auth) as driver:
        for number in range(15):
            driver.execute_query("CREATE (:W {i: $i})", i=number)
            assert driver.execute_query(query, routing_="r").records[0]["n"] == number + 1
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures


def test_a_device_that_was_asked_for_says_why_it_cannot(driver):
    assert soon(lambda: ready(driver))
    with driver.session() as session, pytest.raises(ClientError, match="CREATE"):
        session.run(neo4j.Query("CREATE (n) RETURN n", metadata=GPU)).consume()
