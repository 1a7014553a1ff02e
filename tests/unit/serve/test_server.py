"""The server for an embedded graph, with the real driver and with a client that sends any bytes."""

import contextlib
import random
import socket
import ssl
import threading
import time

import neo4j
import pytest
from bolt_client import MAGIC, BoltClient, make_certificate, served
from neo4j.exceptions import ClientError, CypherSyntaxError, Neo4jError
from soon import ends_in, soon

import gpugda
from gpugda.errors import ConfigurationError, SourceError
from gpugda.serve.framing import VERSIONS, chunked
from gpugda.serve.messages import Tag
from gpugda.serve.packstream import Packer, Structure, unpack
from gpugda.serve.server import host_and_port
from strategies import examples

LONG = (
    "UNWIND range(1, 2000) AS a UNWIND range(1, 2000) AS b UNWIND range(1, 2000) AS c "
    "WITH a + b + c AS s WHERE s < 0 RETURN count(s)"
)


@pytest.fixture(scope="module")
def graph():
    nodes = {"id": [1, 2, 3], "labels": ["Person"] * 3, "name": ["Ann", "Bo", "Cy"]}
    edges = {"source": [1, 2, 3], "target": [2, 3, 1], "type": ["KNOWS"] * 3}
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=edges)) as accelerator:
        yield accelerator


@pytest.fixture(scope="module", params=["alone", "relayed"])
def server(request, graph):
    """A server alone, or one that relays to a server alone."""
    with served(graph, largest_message=1 << 20) as made:
        if request.param == "alone":
            yield made
            return
        with served(f"bolt://{made.address}", largest_message=1 << 20) as front:
            yield front


@pytest.fixture
def client(server):
    with BoltClient(server.address) as made:
        yield made


@pytest.fixture(scope="module")
def driver(server):
    with neo4j.GraphDatabase.driver(f"bolt://{server.address}") as made:
        yield made


# ------------------------------------------------------------------ the driver
def test_the_driver_reads_nodes_relationships_and_paths(driver, graph):
    query = "MATCH p = (a {name: $name})-[r]->(b) RETURN a, r, b, p"
    records, summary, keys = driver.execute_query(query, name="Ann")
    assert keys == ["a", "r", "b", "p"]
    (found,) = records
    assert dict(found["a"]) == {"id": 1, "name": "Ann"}
    assert found["a"].labels == {"Person"}
    assert found["r"].start_node == found["a"]
    assert found["r"].end_node == found["b"]
    assert found["p"].nodes == (found["a"], found["b"])
    assert summary.query_type == "r"
    assert summary.database == "neo4j"
    assert summary.metadata["gpugda"]["engine"] == "gpu"
    assert {each.gql_status for each in summary.gql_status_objects} == {"00000"}


def test_the_driver_finds_its_route(server):
    with neo4j.GraphDatabase.driver(f"neo4j://{server.address}") as routing:
        for access in ("r", "w"):
            found = routing.execute_query("MATCH (n) RETURN count(n) AS n", routing_=access)
            assert found.records[0]["n"] == 3
            assert found.summary.server.address == host_and_port(server.address)


def test_several_results_of_one_transaction(driver):
    with driver.session(fetch_size=2) as session, session.begin_transaction() as transaction:
        first = transaction.run("UNWIND range(1, 9) AS x RETURN x")
        second = transaction.run("UNWIND range(11, 19) AS x RETURN x")
        pairs = [(one["x"], two["x"]) for one, two in zip(first, second, strict=True)]
        assert pairs == [(x, x + 10) for x in range(1, 10)]


def test_a_result_may_be_left(driver):
    with driver.session(fetch_size=10) as session:
        assert session.run("UNWIND range(1, 100) AS x RETURN x").fetch(3)[2]["x"] == 3
        assert session.run("RETURN 1 AS x").single()["x"] == 1


def test_bookmarks_are_passed_on(driver):
    with driver.session() as session:
        session.run("RETURN 1").consume()
        with driver.session(bookmarks=session.last_bookmarks()) as later:
            assert later.run("RETURN 2 AS x").single()["x"] == 2


def test_errors_have_neo4js_codes(driver):
    with pytest.raises(CypherSyntaxError):
        driver.execute_query("RETUR 1")
    for query, code in (
        ("RETURN $x", "Statement.ParameterMissing"),
        ("CREATE (n)", "Statement.AccessMode"),
        ("MATCH (n) SET n.x = 1", "Statement.AccessMode"),
        ("RETURN 1 / 0", "Statement.ArithmeticError"),
        ("CALL apoc.help('x')", "Statement.UnsupportedOperationError"),
    ):
        with pytest.raises(ClientError) as caught:
            driver.execute_query(query)
        assert caught.value.code == f"Neo.ClientError.{code}", query
    assert driver.execute_query("RETURN 1 AS x").records[0]["x"] == 1


def test_another_database_or_user_is_refused(driver):
    with pytest.raises(Neo4jError, match="nosuch"):
        driver.execute_query("RETURN 1", database_="nosuch")
    with pytest.raises(Neo4jError, match="impersonate"):
        driver.execute_query("RETURN 1", impersonated_user_="ann")


def test_plans_are_drawn(driver):
    plan = driver.execute_query("EXPLAIN MATCH (a:Person)-->(b) RETURN count(*)").summary.plan
    assert plan["operatorType"] == "Project@gpugda"
    assert plan["children"][0]["children"][0]["args"]["Details"] == "(a:Person)-->(b)"
    summary = driver.execute_query("PROFILE MATCH (a:Person)-->(b) RETURN a.name").summary
    assert summary.profile["rows"] == 3
    assert summary.profile["children"][0]["operatorType"] == "Match@gpugda"


def test_notifications_are_those_of_neo4j(driver):
    query = "MATCH (n:Zorg) RETURN n"
    statuses = driver.execute_query(query).summary.gql_status_objects
    assert [each.gql_status for each in statuses] == ["02000", "01N50"]
    assert statuses[1].diagnostic_record["_position"] == {"offset": 9, "line": 1, "column": 10}

    def told(**options):
        with driver.session(**options) as session:
            found = session.run(query).consume().gql_status_objects
        return [each.gql_status for each in found]

    assert told(notifications_min_severity="OFF") == ["02000"]
    assert told(notifications_disabled_classifications=["UNRECOGNIZED"]) == ["02000"]


def test_what_tools_ask_when_they_connect(driver):
    def ask(query):
        return [record.values() for record in driver.execute_query(query).records]

    assert ask("CALL db.labels()") == [["Person"]]
    assert ask("CALL db.labels() YIELD label RETURN count(label) AS n") == [[1]]
    assert ask("CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t") == [["KNOWS"]]
    assert ask("CALL db.propertyKeys()") == [["id"], ["name"]]
    assert ask("SHOW DATABASES YIELD name, home WHERE home RETURN name") == [["neo4j"]]
    assert ask("SHOW DATABASES YIELD name ORDER BY name DESC") == [["system"], ["neo4j"]]
    assert ask("CALL dbms.components() YIELD name, versions, edition") == [
        ["Neo4j Kernel", ["5.26.0"], "community"]
    ]
    assert ask("SHOW INDEXES") == []


def test_a_time_limit(driver):
    query = neo4j.Query(LONG, timeout=0.2)
    with driver.session() as session, ends_in(), pytest.raises(ClientError) as caught:
        session.run(query).consume()
    assert "TimedOut" in caught.value.code


# ------------------------------------------------------------------ versions
@pytest.mark.parametrize("version", VERSIONS, ids=lambda each: ".".join(map(str, each)))
def test_every_version(server, version):
    with BoltClient(server.address, bytes((0, 0, version[1], version[0])) + bytes(12)) as client:
        assert client.answer == bytes((0, 0, version[1], version[0]))
        tag, found = client.ask(Tag.RUN, "MATCH (n:Zorg) RETURN n", {}, {})
        assert (tag, found["fields"]) == (Tag.SUCCESS, ["n"])
        rows, last = client.rows()
        assert rows == []
        assert ("statuses" in last.fields[0]) == (version >= (5, 5))
        assert ("notifications" in last.fields[0]) == (version < (5, 5))
        client.ask(Tag.RUN, "RETURN datetime('2020-01-01T00:00[Europe/Berlin]') AS d", {}, {})
        rows, last = client.rows()
        assert str(rows[0][0]) == "2020-01-01T00:00:00.000000000+01:00"
        tag, found = client.ask(Tag.RUN, "RETUR", {}, {})
        assert tag == Tag.FAILURE
        assert ("neo4j_code" in found) == (version >= (5, 7))
        assert client.ask(Tag.PULL, {"n": -1})[0] == Tag.IGNORED
        assert client.ask(Tag.RESET)[0] == Tag.SUCCESS
        table = client.ask(Tag.ROUTE, {}, [], {})[1]["rt"]
        assert {each["role"] for each in table["servers"]} == {"READ", "WRITE", "ROUTE"}


def test_bolt_4_4_without_the_patch_has_local_times(server):
    with BoltClient(server.address, bytes((0, 0, 4, 4)) + bytes(12), hello=False) as client:
        assert "patch_bolt" not in client.ask(Tag.HELLO, {"scheme": "none"})[1]
        client.ask(Tag.RUN, "RETURN datetime('2020-01-01T00:00+01:00') AS d, $d AS e", {"d": 1}, {})
        client.send(Tag.PULL, {"n": -1})
        data = next(client.dechunker.feed(client.socket.recv(10_000)))
        assert b"\xb3F" in data
        assert str(unpack(data).fields[0][0]) == "2020-01-01T00:00:00.000000000+01:00"


def test_the_manifest(server):
    client = BoltClient(server.address, b"\0\0\x01\xff" + bytes(12), hello=False)
    with client:
        assert client.answer == b"\0\0\x01\xff"
        assert client.exactly(1 + 3 * 4 + 1)[0] == 3
        client.socket.sendall(b"\0\0\x04\x05\0")
        client.hello((5, 4))


@pytest.mark.parametrize(
    "start",
    [
        MAGIC + bytes(16),
        MAGIC + bytes((0, 0, 3, 4)) + bytes(12),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(20),
        b"POST / HTTP/1.1\r\n\r\n" + bytes(20),
        bytes(range(40)),
    ],
)
def test_what_is_no_bolt_is_closed(server, start):
    with socket.create_connection(host_and_port(server.address), 60) as connection:
        connection.sendall(start)
        found = connection.recv(100) if start.startswith(MAGIC) else b""
        assert found in (b"", bytes(4))
        assert connection.recv(100) == b""


# ------------------------------------------------------------------ the states of a conversation
def test_pull_in_parts_and_discard(client):
    client.ask(Tag.RUN, "UNWIND range(1, 10) AS x RETURN x", {}, {})
    rows, last = client.rows(n=4)
    assert (rows, last.fields[0]) == ([[1], [2], [3], [4]], {"has_more": True})
    assert client.ask(Tag.DISCARD, {"n": 3})[1] == {"has_more": True}
    rows, last = client.rows()
    assert rows == [[8], [9], [10]]
    assert {"bookmark", "type", "t_last", "db"} <= last.fields[0].keys()


def test_results_of_a_transaction_have_numbers(client):
    client.ask(Tag.BEGIN, {})
    assert client.ask(Tag.RUN, "UNWIND [1, 2, 3] AS x RETURN x", {}, {})[1]["qid"] == 0
    assert client.ask(Tag.RUN, "RETURN 9 AS x", {}, {})[1]["qid"] == 1
    assert client.rows(n=1, qid=0)[0] == [[1]]
    assert client.rows()[0] == [[9]]
    assert client.rows(qid=0)[0] == [[2], [3]]
    tag, found = client.ask(Tag.COMMIT)
    assert (tag, "bookmark" in found) == (Tag.SUCCESS, True)


def test_after_a_failure_all_is_ignored_until_reset(client):
    client.ask(Tag.BEGIN, {})
    assert client.ask(Tag.RUN, "RETUR", {}, {})[0] == Tag.FAILURE
    for message in ((Tag.PULL, {"n": 1}), (Tag.COMMIT,), (Tag.ROLLBACK,), (Tag.RUN, "x", {}, {})):
        assert client.ask(*message)[0] == Tag.IGNORED
    assert client.ask(Tag.RESET)[0] == Tag.SUCCESS
    assert client.ask(Tag.RUN, "RETURN 1", {}, {})[0] == Tag.SUCCESS


def test_a_pipeline_is_answered_in_order(client):
    packer = Packer()
    run = packer.message(Tag.RUN, "RETURN 1 AS x", {}, {})
    pull = packer.message(Tag.PULL, {"n": -1})
    client.socket.sendall(b"".join(map(chunked, [run, pull] * 50)))
    tags = [client.receive().tag for _ in range(150)]
    assert tags == [Tag.SUCCESS, Tag.RECORD, Tag.SUCCESS] * 50


@pytest.mark.parametrize(
    "message",
    [
        (Tag.PULL, {"n": -1}),
        (Tag.COMMIT,),
        (Tag.HELLO, {}),
        (Tag.RUN, 1, {}, {}),
        (Tag.RUN, "RETURN 1"),
        (Tag.RECORD, []),
        (0x99,),
    ],
)
def test_a_message_out_of_turn_fails_and_closes(client, message):
    tag, found = client.ask(*message)
    assert (tag, found["neo4j_code"]) == (Tag.FAILURE, "Neo.ClientError.Request.Invalid")
    assert client.is_closed()


def test_a_client_says_who_it_is_first(server):
    with BoltClient(server.address, hello=False) as client:
        assert client.ask(Tag.RUN, "RETURN 1", {}, {})[0] == Tag.FAILURE
        assert client.is_closed()


def test_logoff_and_logon(client):
    assert client.ask(Tag.LOGOFF)[0] == Tag.SUCCESS
    assert client.ask(Tag.LOGON, {"scheme": "none"})[0] == Tag.SUCCESS
    assert client.ask(Tag.TELEMETRY, 1)[0] == Tag.SUCCESS
    assert client.ask(Tag.RUN, "RETURN 1", {}, {})[0] == Tag.SUCCESS


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"tx_timeout": -1}, "tx_timeout"),
        ({"db": 5}, "5"),
        ({"tx_metadata": {"gpugda": "native"}}, "gpugda"),
    ],
)
def test_options_that_make_no_sense(client, extra, message):
    tag, found = client.ask(Tag.RUN, "RETURN 1", {}, extra)
    assert tag == Tag.FAILURE
    assert message in found["message"]


@pytest.mark.parametrize("extra", [{"n": 0}, {"n": -2}, {"n": "x"}, {"n": 1, "qid": 7}])
def test_pulls_that_make_no_sense(client, extra):
    client.ask(Tag.RUN, "RETURN 1", {}, {})
    assert client.ask(Tag.PULL, extra)[0] == Tag.FAILURE


def test_a_year_beyond_python_is_an_error_of_the_query(client):
    year_10_000 = Packer().message(Tag.RUN, "RETURN $d", {"d": 0}, {})
    data = year_10_000.replace(b"\xa1\x81d\x00", b"\xa1\x81d\xb1D\xca\x00\x2c\xc0\xa1")
    client.socket.sendall(chunked(data))
    found = client.receive()
    assert found.tag == Tag.FAILURE
    assert "Statement" in found.fields[0]["neo4j_code"]
    assert client.ask(Tag.RESET)[0] == Tag.SUCCESS


# ------------------------------------------------------------------ interruption
def test_reset_ends_a_running_query(server, client):
    client.send(Tag.RUN, LONG, {}, {})
    client.send(Tag.PULL, {"n": -1})
    time.sleep(0.2)  # it runs; if it did not yet, the test holds as well
    with ends_in():
        client.send(Tag.RESET)
        first, second, third = client.receive(), client.receive(), client.receive()
    assert first.tag in (Tag.FAILURE, Tag.IGNORED)
    assert (second.tag, third.tag) == (Tag.IGNORED, Tag.SUCCESS)
    client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
    assert client.rows()[0] == [[1]]


def test_a_closed_connection_ends_its_query(graph):
    with served(graph, most_queries=1) as server:
        with BoltClient(server.address) as leaving:
            leaving.send(Tag.RUN, LONG, {}, {})
            time.sleep(0.2)
        with ends_in(), BoltClient(server.address) as staying:
            staying.ask(Tag.RUN, "RETURN 1 AS x", {}, {})  # there is one thread for all
            assert staying.rows()[0] == [[1]]


def test_who_waits_long_is_told_that_the_server_lives(graph):
    with served(graph, alive_seconds=0.05) as server, BoltClient(server.address) as client:
        client.send(Tag.RUN, LONG, {}, {})
        assert client.exactly(4) == b"\0\0\0\0"
        client.send(Tag.RESET)
        assert client.receive().tag == Tag.FAILURE


# ------------------------------------------------------------------ bad input
def test_a_message_beyond_the_limit_is_told_and_closed(server, client):
    client.socket.sendall((b"\xff\xff" + bytes(0xFFFF)) * 17)
    found = client.receive()
    assert found.tag == Tag.FAILURE
    assert "1,048,576" in found.fields[0]["message"]
    assert client.is_closed()


def test_half_a_message_harms_nobody(server, client):
    with BoltClient(server.address) as half:
        half.socket.sendall(b"\x00\x10\xb3\x10")
        client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
        assert client.rows()[0] == [[1]]


def test_a_client_that_never_says_hello_is_dropped(graph):
    with served(graph, hello_seconds=0.2) as server:
        for start in (b"", MAGIC, MAGIC + bytes((0, 0, 8, 5)) + bytes(12)):
            with socket.create_connection(host_and_port(server.address), 60) as connection:
                connection.sendall(start)
                while connection.recv(100):
                    pass


def test_a_client_that_never_reads_is_dropped_and_harms_nobody(graph):
    with served(graph, slowest_seconds=0.5) as server:
        lazy = BoltClient(server.address)
        lazy.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lazy.send(
            Tag.RUN, "UNWIND range(1, 2000000) AS x RETURN x, 'a text of some length'", {}, {}
        )
        lazy.send(Tag.PULL, {"n": -1})
        with BoltClient(server.address) as other:
            other.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
            assert other.rows()[0] == [[1]]
        assert soon(lambda: len(server.connections) == 0)
        lazy.close()


def test_more_clients_than_allowed_are_refused(graph):
    with served(graph, most_connections=1) as server, BoltClient(server.address) as client:
        with socket.create_connection(host_and_port(server.address), 60) as another:
            another.sendall(MAGIC + bytes(16))
            with contextlib.suppress(ConnectionResetError):
                assert another.recv(1) == b""
        client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
        assert client.rows()[0] == [[1]]


def conversation():
    packer = Packer()
    messages = [
        packer.message(Tag.HELLO, {"user_agent": "x/1"}),
        packer.message(Tag.LOGON, {"scheme": "none"}),
        packer.message(Tag.RUN, "UNWIND $xs AS x RETURN x", {"xs": [1, 2.5, "a", None]}, {}),
        packer.message(Tag.PULL, {"n": 2}),
        packer.message(Tag.DISCARD, {"n": -1}),
        packer.message(Tag.BEGIN, {"mode": "r"}),
        packer.message(Tag.RUN, "RETURN 1", {}, {}),
        packer.message(Tag.PULL, {"n": -1, "qid": 0}),
        packer.message(Tag.COMMIT),
        packer.message(Tag.RESET),
    ]
    return MAGIC + bytes((0, 0, 8, 5)) + bytes(12), list(map(chunked, messages))


def mutated(random_):
    start, messages = conversation()
    kind = random_.randrange(5)
    if kind == 0:
        random_.shuffle(messages)
    elif kind == 1:
        del messages[random_.randrange(len(messages))]
    elif kind == 2:
        messages.insert(random_.randrange(len(messages)), random_.choice(messages))
    data = bytearray(start + b"".join(messages))
    if kind >= 3:
        for _ in range(random_.randrange(1, 6)):
            data[random_.randrange(20 if kind == 3 else 0, len(data))] = random_.randrange(256)
    return bytes(data[: random_.randrange(len(data))] if random_.random() < 0.2 else data)


def test_mutated_conversations(server, client):
    random_ = random.Random(35)
    before = len(server.connections)
    for number in range(examples(1000)):
        data = mutated(random_)
        with socket.create_connection(host_and_port(server.address), 60) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            try:
                while connection.recv(1 << 16):
                    pass
            except ConnectionResetError:
                pass
        if number % 100 == 0:
            client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
            assert client.rows()[0] == [[1]]
    assert soon(lambda: len(server.connections) == before)


# ------------------------------------------------------------------ users, TLS, other transports
def refused(url, auth):
    driver = neo4j.GraphDatabase.driver(url, auth=auth)
    with driver, pytest.raises(neo4j.exceptions.AuthError):
        driver.verify_connectivity()


def test_a_password(graph):
    with served(graph, auth=("ann", "secret")) as server:
        url = f"bolt://{server.address}"
        with neo4j.GraphDatabase.driver(url, auth=("ann", "secret")) as driver:
            assert driver.execute_query("RETURN 1 AS x").records[0]["x"] == 1
        for wrong in (("ann", "Secret"), ("bo", "secret"), None, neo4j.bearer_auth("secret")):
            refused(url, wrong)


def test_credentials_are_in_no_log(graph, caplog):
    caplog.set_level("DEBUG", "gpugda")
    with served(graph, auth=("ann", "secret")) as server:
        refused(f"bolt://{server.address}", ("ann", "hunter2"))
    assert caplog.records
    assert "secret" not in caplog.text
    assert "hunter2" not in caplog.text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_tls(graph, certificate):
    with served(graph, certificate=certificate[0], key=certificate[1]) as server:
        trusted = neo4j.TrustCustomCAs(certificate[0])
        with neo4j.GraphDatabase.driver(
            f"bolt://{server.address}", encrypted=True, trusted_certificates=trusted
        ) as driver:
            assert driver.execute_query("RETURN 1 AS x").records[0]["x"] == 1
        with socket.create_connection(host_and_port(server.address), 60) as connection:
            connection.sendall(MAGIC + bytes(16))
            assert connection.recv(100) == b""
        server.reload_certificate()


def test_a_certificate_that_is_none(graph, tmp_path):
    (tmp_path / "x.pem").write_text("no certificate")
    with pytest.raises(SourceError), served(graph, certificate=str(tmp_path / "x.pem")):
        pass
    with pytest.raises(ConfigurationError), served(graph, key="x"):
        pass


def test_a_file_at_the_path_of_a_unix_socket_stays(graph, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("of value")
    for options in ({"listen": str(path)}, {"http": str(path)}):
        with pytest.raises(ConfigurationError, match="no socket"), served(graph, **options):
            pass
    assert path.read_text() == "of value"


def test_a_unix_socket(graph, tmp_path):
    path = str(tmp_path / "bolt.sock")
    with served(graph, listen=path) as server, BoltClient(server.address) as client:
        client.ask(Tag.RUN, "RETURN 1 AS x", {}, {})
        assert client.rows()[0] == [[1]]


def over_web_socket(address, **options):
    from websockets.sync.client import connect

    return connect(f"ws://{address}", **options)


def test_bolt_over_web_socket(server):
    packer = Packer()
    with over_web_socket(server.address) as web:
        web.send(MAGIC + bytes((0, 0, 8, 5)) + bytes(12))
        assert web.recv() == bytes((0, 0, 8, 5))
        web.send(chunked(packer.message(Tag.HELLO, {"user_agent": "x"})))
        web.send(chunked(packer.message(Tag.LOGON, {"scheme": "none"})))
        run = chunked(packer.message(Tag.RUN, "UNWIND range(1, 9) AS x RETURN x", {}, {}))
        web.send(run[:7])  # a message in two frames
        web.send(run[7:] + chunked(packer.message(Tag.PULL, {"n": -1})))
        data = b""
        while data.count(b"\xb1\x71") < 9:
            data += web.recv()


def test_pages_of_other_hosts_may_not_connect(server, graph):
    from websockets.exceptions import InvalidStatus

    def opened(address, origin):
        with over_web_socket(address, origin=origin):
            return True

    with pytest.raises(InvalidStatus, match="403"):
        opened(server.address, "https://evil.example")
    assert opened(server.address, "http://localhost:8080")
    with served(graph, origins=("https://tool.example",)) as other:
        assert opened(other.address, "https://tool.example")


def test_http_is_answered_as_http(server):
    with socket.create_connection(host_and_port(server.address), 60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 426")
    with socket.create_connection(host_and_port(server.address), 60) as connection:
        connection.sendall(b"GET " + b"x" * 100_000)
        try:
            while connection.recv(1000):
                pass
        except ConnectionResetError:
            pass


# ------------------------------------------------------------------ the server
@pytest.mark.slow
def test_many_clients_at_a_time(server):
    failures = []

    def ask(number):
        try:
            with neo4j.GraphDatabase.driver(f"bolt://{server.address}") as driver:
                for x in range(20):
                    records = driver.execute_query("RETURN $x AS x", x=[number, x]).records
                    assert records[0]["x"] == [number, x]
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_server_lets_a_query_end_before_it_stops(graph):
    with served(graph, drain_seconds=60.0) as server:
        client = BoltClient(server.address)
        client.ask(Tag.RUN, "UNWIND range(1, 3) AS x RETURN x", {}, {})
        closing = threading.Timer(0.2, lambda: client.send(Tag.PULL, {"n": -1}))
        closing.start()
    rows = []
    while (found := client.receive()).tag == Tag.RECORD:
        rows.append(found.fields[0])
    assert rows == [[1], [2], [3]]
    assert isinstance(found, Structure)
    client.close()


def test_the_server_lets_a_running_query_end_before_it_stops(graph):
    query = "UNWIND range(1, 3000) AS a UNWIND range(1, 3000) AS b WITH a + b AS s RETURN count(s)"
    with served(graph, drain_seconds=60.0) as made:
        client = BoltClient(made.address)
        client.send(Tag.RUN, query, {}, {})
        client.send(Tag.PULL, {"n": -1})
        assert soon(lambda: any(each and not each.is_idle for each in made.connections))
        assert not made.journal.classes  # it runs, and has no answer yet
    tags = [client.receive().tag for _ in range(3)]
    assert tags == [Tag.SUCCESS, Tag.RECORD, Tag.SUCCESS]
    client.close()


def test_wrong_settings(graph):
    with pytest.raises(ConfigurationError, match="nosuch"):
        gpugda.AsyncServer(graph, nosuch=1)
    assert host_and_port("localhost", 7475) == ("localhost", 7475)
    for listen in ("localhost:x", ":1", "localhost:99999"):
        with pytest.raises(ConfigurationError, match="address"), served(graph, listen=listen):
            pass
    with (
        served(graph) as server,
        pytest.raises(SourceError, match="cannot be served: another program listens there"),
        served(graph, listen=server.address),
    ):
        pass
    for listen in ("no.such.host.invalid:7687", "x..y:1"):
        with (
            pytest.raises(SourceError, match="name cannot be resolved; write HOST:PORT"),
            served(graph, listen=listen),
        ):
            pass


@pytest.mark.parametrize("option", ["listen", "http"])
def test_a_taken_port_names_its_option(graph, option):
    with (
        served(graph) as server,
        pytest.raises(SourceError, match=f"choose another port with --{option}$"),
        served(graph, **{option: server.address}),
    ):
        pass


def test_a_server_is_local_or_says_so(graph):
    with served(graph) as server:
        assert server.is_local
    with served(graph, listen="0.0.0.0:0") as server:
        assert not server.is_local


def test_the_address_that_routing_names(graph):
    with served(graph, advertise="db.example:7687") as server, BoltClient(server.address) as client:
        table = client.ask(Tag.ROUTE, {"address": "x:1"}, [], {})[1]["rt"]
        assert table["servers"][0]["addresses"] == ["db.example:7687"]


def test_tls_needs_no_old_version(graph, certificate):
    with served(graph, certificate=certificate[0], key=certificate[1]) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = socket.create_connection(host_and_port(server.address), 60)
        with context.wrap_socket(connection) as secure:
            assert secure.version() in ("TLSv1.2", "TLSv1.3")
