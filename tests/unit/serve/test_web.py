"""The port for HTTP: Neo4j's Query API, the page and its data, health and metrics."""

import asyncio
import base64
import json
import logging
import socket
import tracemalloc
import urllib.error
import urllib.request

import pytest
from bolt_client import BoltClient, served
from prometheus_client.parser import text_string_to_metric_families
from soon import soon

import gpugda
from gpugda.answer.declined import Declined
from gpugda.errors import ConfigurationError
from gpugda.serve.answers import Workers
from gpugda.serve.front import Front
from gpugda.serve.journal import Journal
from gpugda.serve.messages import Tag
from gpugda.serve.server import host_and_port
from gpugda.serve.settings import Settings
from gpugda.serve.web import WebPort

TYPED = "application/vnd.neo4j.query"


@pytest.fixture(scope="module")
def graph():
    nodes = {"id": [1, 2], "labels": [["A", "B"], ["A"]], "l": [[1.0, 2.5], None]}
    edges = {"source": [1], "target": [2], "type": ["R"], "w": [7]}
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=edges)) as accelerator:
        yield accelerator


@pytest.fixture(scope="module", params=["alone", "relayed"])
def server(request, graph):
    with served(graph, http="127.0.0.1:0") as made:
        if request.param == "alone":
            yield made
            return
        with served(f"bolt://{made.address}", http="127.0.0.1:0") as front:
            yield front


def fetch(server, path, body=None, **headers):
    """The status, and the body as text."""
    data = (
        None if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
    )
    given = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(f"http://{server.web_address}{path}", data, given)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def ask(server, statement, *, database="neo4j", kind="application/json", **more):
    body = {"statement": statement, **more}
    headers = {"Accept": kind, "Content-Type": kind}
    status, text = fetch(server, f"/db/{database}/query/v2", body, **headers)
    return status, json.loads(text)


def test_plain_values(server):
    query = (
        "MATCH p = (a:B)-[r:R]->(b) RETURN p, point({x: 1, y: 2}) AS pt, 1.0 AS f, 0.0/0.0 AS nan, "
        "datetime('2020-01-01T00:00:00.5[Europe/Berlin]') AS z, null AS n, {a: [1]} AS m, $b AS b, "
        "duration('P1Y2M3DT4.5S') AS d"
    )
    status, found = ask(server, query, parameters={"b": True})
    assert status == 202
    assert found["data"]["fields"] == ["p", "pt", "f", "nan", "z", "n", "m", "b", "d"]
    ((path, *values),) = found["data"]["values"]
    assert values == [
        "SRID=7203;POINT (1.0 2.0)", 1.0, "NaN", "2020-01-01T00:00:00.5+01:00", None, {"a": [1]},
        True, "P1Y2M3DT4.5S",
    ]  # fmt: skip
    node, relationship, other = path
    assert node["labels"] == ["A", "B"]
    assert node["properties"] == {"id": 1, "l": [1.0, 2.5]}
    assert relationship["type"] == "R"
    assert relationship["startNodeElementId"] == node["elementId"]
    assert relationship["endNodeElementId"] == other["elementId"]


def test_typed_values_are_those_that_neo4j_gives_and_takes(server):
    values = {
        "i": {"$type": "Integer", "_value": "9007199254740993"},
        "f": {"$type": "Float", "_value": "1.0E300"},
        "s": {"$type": "String", "_value": "ä"},
        "b": {"$type": "Boolean", "_value": True},
        "n": {"$type": "Null", "_value": None},
        "d": {"$type": "Date", "_value": "2020-01-01"},
        "z": {"$type": "ZonedDateTime", "_value": "2020-01-01T00:00:00.5+01:00[Europe/Berlin]"},
        "o": {"$type": "OffsetDateTime", "_value": "2020-01-01T00:00:00Z"},
        "t": {"$type": "Time", "_value": "10:00:00+01:00"},
        "lt": {"$type": "LocalTime", "_value": "10:00:00"},
        "ld": {"$type": "LocalDateTime", "_value": "2020-01-01T00:00:01"},
        "du": {"$type": "Duration", "_value": "P1Y2M3DT4.5S"},
        "p": {"$type": "Point", "_value": "SRID=4979;POINT Z (1.0 2.0 3.0)"},
        "l": {"$type": "List", "_value": [{"$type": "Integer", "_value": "1"}]},
        "m": {"$type": "Map", "_value": {"a": {"$type": "Null", "_value": None}}},
    }
    query = "RETURN " + ", ".join(f"${name} AS {name}" for name in values)
    status, found = ask(server, query, kind=TYPED, parameters=values)
    assert status == 202, found
    given = dict(zip(found["data"]["fields"], found["data"]["values"][0], strict=True))
    assert given == values
    _, found = ask(server, "MATCH (a)-[r]->() RETURN r", kind=TYPED)
    ((relationship,),) = found["data"]["values"]
    assert relationship["$type"] == "Relationship"
    assert relationship["_value"]["_properties"] == {"w": {"$type": "Integer", "_value": "7"}}


def test_plans_notifications_and_counters(server):
    status, found = ask(server, "EXPLAIN MATCH (a:Zorg) RETURN a", includeCounters=True)
    assert (status, found["data"]["values"]) == (202, [])
    assert found["queryPlan"]["arguments"]
    assert found["counters"]["nodesCreated"] == 0
    _, found = ask(server, "MATCH (a:Zorg) RETURN a")
    assert found["notifications"][0]["category"] == "UNRECOGNIZED"


def test_many_rows_come_in_parts(server):
    _, found = ask(server, "UNWIND range(1, 3000) AS x RETURN x, 'some text' AS t")
    assert [row[0] for row in found["data"]["values"]] == list(range(1, 3001))


@pytest.mark.parametrize(
    ("statement", "more", "status", "code"),
    [
        ("RETUR", {}, 400, "Neo.ClientError.Statement.SyntaxError"),
        ("CREATE (n)", {}, 400, "Neo.ClientError.Statement.AccessMode"),
        ("RETURN 1", {"database": "nosuch"}, 404, "Neo.ClientError.Database.DatabaseNotFound"),
        ("RETURN 1", {"parameters": 5}, 400, "Neo.ClientError.Request.Invalid"),
        ("RETURN $x", {"kind": TYPED, "parameters": {"x": {"$type": "Zorg", "_value": 1}}}, 400,
         "Neo.ClientError.Request.Invalid"),
        (5, {}, 400, "Neo.ClientError.Request.Invalid"),
        ("RETURN $x", {"parameters": {"x": 1 << 63}}, 400, "Neo.ClientError.Request.Invalid"),
        ("RETURN 1", {"maxExecutionTime": 1 << 62}, 400, "Neo.ClientError.Request.Invalid"),
        ("RETURN 1", {"maxExecutionTime": 1e999}, 400, "Neo.ClientError.Request.Invalid"),
        ("RETURN 1", {"bookmarks": "abc"}, 400, "Neo.ClientError.Request.Invalid"),
    ],
)  # fmt: skip
def test_failures(server, statement, more, status, code):
    found, body = ask(server, statement, **more)
    assert (found, body["errors"][0]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Null", 0),
        ("Boolean", "false"),
        ("Boolean", 0),
        ("Integer", 1.7),
        ("Integer", "1.7"),
        ("Integer", "1_0"),
        ("Integer", True),
        ("Integer", 1 << 63),
        ("Integer", str(1 << 63)),
        ("Float", True),
        ("Float", "1_0"),
        ("String", 5),
        ("Base64", "$$$"),
        ("Base64", 5),
        ("List", "ab"),
        ("Map", [1]),
        ("Date", 5),
        ("Date", "2020-13-45"),
        ("Time", "10:00:00"),
        ("LocalTime", "10:00:00+01:00"),
        ("LocalDateTime", "2020-01-01T00:00:00Z"),
        ("OffsetDateTime", 5),
        ("OffsetDateTime", "2020-01-01T00:00:00"),
        ("ZonedDateTime", "2020-01-01T00:00:00Z[Nowhere/Zorg]"),
        ("Duration", "zorg"),
        ("Point", 5),
        ("Point", "SRID=1;POINT (1.0 2.0)"),
        ("Point", "SRID=7203;POINT (1.0)"),
        ("Point", "SRID=7203;POINT (1.0 2.0 3.0 4.0)"),
        ([], 1),
    ],
)
def test_typed_parameters_that_are_none_of_their_type(server, name, value):
    parameters = {"x": {"$type": name, "_value": value}}
    status, found = ask(server, "RETURN $x", kind=TYPED, parameters=parameters)
    assert (status, found["errors"][0]["code"]) == (400, "Neo.ClientError.Request.Invalid"), found


def test_bodies_that_are_none(server):
    path = "/db/neo4j/query/v2"
    for depth in (900, 100_000):
        for kind in ("application/json", TYPED):
            nested = b"[" * depth + b"]" * depth
            body = b'{"statement": "RETURN 1", "parameters": {"x": ' + nested + b"}}"
            assert fetch(server, path, body, **{"Content-Type": kind})[0] == 400
    assert fetch(server, path, b'{"statement": "RETURN 1"')[0] == 400
    assert (
        fetch(server, path, {"statement": "RETURN 1"}, **{"Content-Type": "text/plain"})[0] == 400
    )
    assert fetch(server, path)[0] == 405


def test_pages_of_other_hosts_are_refused(server):
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        assert fetch(server, "/api/status", **headers)[0] == 403
        assert fetch(server, "/db/neo4j/query/v2", {"statement": "RETURN 1"}, **headers)[0] == 403
    assert fetch(server, "/api/status", Origin="http://127.0.0.1:1234")[0] == 200
    for headers in ({"Origin": "http://["}, {"Host": "["}):
        assert fetch(server, "/api/status", **headers)[0] == 400
        assert fetch(server, "/db/neo4j/query/v2", {"statement": "RETURN 1"}, **headers)[0] == 400


def test_a_page_that_is_named_may_ask(graph):
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    with served(graph, http="127.0.0.1:0", origins=("https://tool.example",)) as server:
        for method, headers in (("OPTIONS", asked), ("POST", {})):
            given = {
                "Origin": "https://tool.example",
                "Content-Type": "application/json",
                **headers,
            }
            url = f"http://{server.web_address}/db/neo4j/query/v2"
            request = urllib.request.Request(
                url, b'{"statement": "RETURN 1"}', given, method=method
            )
            with urllib.request.urlopen(request, timeout=60) as answer:
                assert answer.headers["Access-Control-Allow-Origin"] == "https://tool.example"
        assert fetch(server, "/api/status", Origin="https://evil.example")[0] == 403


def test_what_may_hold_a_secret_is_not_kept(server, caplog):
    caplog.set_level(logging.DEBUG, "gpugda")
    with BoltClient(server.address) as client:
        for text, extra in (
            ("ALTER USER bob SET PASSWORD 'zorg'", {}),
            ("/**/ ALTER USER bob SET PASSWORD 'zorg'", {"db": "neo4j"}),
            ("'zorg' PASSWORD", {}),
            ("RETURN 'zorg' AS password", {}),
        ):
            client.ask(Tag.RUN, text, {}, extra)
            client.ask(Tag.RESET)
    assert ask(server, "RETURN 'zorg' AS password")[0] == 202
    assert "zorg" not in fetch(server, "/api/status")[1] + fetch(server, "/metrics")[1]
    assert "zorg" not in caplog.text


def test_commands_of_the_system_database_are_not_kept(graph):
    with (
        served(graph) as behind,
        served(f"bolt://{behind.address}", http="127.0.0.1:0") as front,
        BoltClient(front.address) as client,
    ):
        client.ask(Tag.RUN, "SHOW DATABASES YIELD name AS zorg", {}, {"db": "System"})
        client.rows()
        client.ask(Tag.RUN, "SHOW DATABASES YIELD name AS known", {}, {})
        client.rows()
        status = fetch(front, "/api/status")[1]
    assert "known" in status
    assert "zorg" not in status


@pytest.mark.slow
def test_long_texts_are_not_kept_whole():
    journal = Journal()
    front = Front("bolt://127.0.0.1:1", Workers(1), Settings(), {})
    tracemalloc.start()
    for number in range(20):
        text = f"RETURN {number}" + " " * (1 << 20)
        journal.note("bolt-1", text, "gpu", 0.1, text)
        front.note_declined(text, Declined(text, can_run=False))
        assert front.why_declined(text)
    del text
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 1 << 20
    assert len(journal.slowest()) == 20


# ------------------------------------------------------------------ clients that do harm
def post(statement):
    body = json.dumps({"statement": statement}).encode()
    head = (
        "POST /db/neo4j/query/v2 HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    )
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def connected(server, data):
    made = socket.create_connection(host_and_port(server.web_address), 60)
    made.sendall(data)
    return made


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\n",
        post("RETURN 1")[:-1],
        2 * post("RETURN 1") + b"G",
        post("RETURN 1") + post("RETURN 1")[:-1],
    ],
)
def test_a_client_that_sends_half_a_request_is_dropped(graph, data):
    limits = {"hello_seconds": 0.2, "slowest_seconds": 0.2}
    with served(graph, http="127.0.0.1:0", **limits) as server, connected(server, data) as client:
        while client.recv(1 << 16):
            pass
        assert fetch(server, "/healthz")[0] == 200


@pytest.mark.slow
def test_a_client_that_takes_nothing_is_dropped(graph):
    many = post("UNWIND range(1, 200000) AS x RETURN x, 'a text of some length, as rows have it'")
    with (
        served(graph, http="127.0.0.1:0", slowest_seconds=0.5) as server,
        connected(server, many),
    ):
        assert soon(lambda: server.connections)
        assert soon(lambda: not server.connections)


def test_more_clients_than_allowed_are_closed(graph):
    with (
        served(graph, http="127.0.0.1:0", most_connections=1) as server,
        connected(server, b"GET"),
        connected(server, b"") as second,
    ):
        assert second.recv(1) == b""


LONG = (
    "UNWIND range(1, 2000) AS a UNWIND range(1, 2000) AS b UNWIND range(1, 2000) AS c "
    "WITH a + b + c AS s WHERE s < 0 RETURN count(s)"
)


def test_a_client_that_leaves_ends_its_query(server, caplog):
    with connected(server, post(LONG)):
        assert soon(lambda: any(each and not each.is_idle for each in server.connections))
    assert soon(lambda: not server.connections)
    with connected(server, post(LONG)[:-5]):
        pass
    assert ask(server, "RETURN 1")[0] == 202
    assert "Traceback" not in caplog.text


def test_versions_without_the_form_of_the_query_api(graph, monkeypatch):
    monkeypatch.setattr("gpugda.serve.framing.VERSIONS", ((5, 7), (5, 8)))
    with served(graph, http="127.0.0.1:0") as server:
        assert ask(server, "RETURN 1")[0] == 202
        assert ask(server, "RETUR")[0] == 400


def test_a_port_that_does_not_open_is_an_error_and_can_be_closed():
    class Server:
        journal = Journal()

    port = socket.socket()
    port.close()

    async def start():
        web = WebPort(Server(), [port], None, None, Settings())
        try:
            with pytest.raises(OSError, match="descriptor"):
                await web.start()
        finally:
            await web.close()

    asyncio.run(start())


def test_the_page_health_and_what_happened(server):
    assert fetch(server, "/healthz") == (200, "ok\n")
    assert "<title>gpugda serve</title>" in fetch(server, "/")[1]
    with BoltClient(server.address) as client:
        client.ask(Tag.RUN, "RETURN 'a text of its own' AS x", {}, {})
        client.rows()
        client.ask(Tag.RUN, "RETUR", {}, {})
        status = json.loads(fetch(server, "/api/status")[1])
    assert "test/1" in {each["agent"] for each in status["connections"]}
    assert "RETURN 'a text of its own' AS x" in {each["text"] for each in status["slowest"]}
    assert status["failures"] >= 1
    assert sum(status["engines"].values()) >= 1
    families = {
        each.name: each for each in text_string_to_metric_families(fetch(server, "/metrics")[1])
    }
    counts = [each for each in families["gpugda_query_seconds"].samples if "count" in each.name]
    assert sum(each.value for each in counts) >= 1


def test_beyond_this_machine_it_has_an_account(graph):
    with pytest.raises(ConfigurationError, match="account"), served(graph, http="0.0.0.0:0"):
        pass
    with served(graph, http="0.0.0.0:0", auth=("ann", "secret")) as server:
        server.web_address  # noqa: B018
        port = server.web_address.rpartition(":")[2]

        class Local:
            web_address = f"127.0.0.1:{port}"

        basic = base64.b64encode(b"ann:secret").decode()
        for path, body in (
            ("/api/status", None),
            ("/db/neo4j/query/v2", {"statement": "RETURN 1"}),
        ):
            assert fetch(Local, path, body)[0] == 401
            assert fetch(Local, path, body, Authorization="Basic !")[0] == 401
            assert fetch(Local, path, body, Authorization=f"Basic {basic}")[0] in (200, 202)
        assert fetch(Local, "/healthz")[0] == 200


def test_a_server_that_is_away_is_told():
    with served("bolt://127.0.0.1:1", http="127.0.0.1:0") as front:
        assert fetch(front, "/healthz")[0] == 503
        assert ask(front, "RETURN 1")[0] == 503
