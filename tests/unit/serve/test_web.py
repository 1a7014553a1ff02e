"""The port for HTTP: Neo4j's Query API, the page and its data, health and metrics."""

import base64
import json
import urllib.error
import urllib.request

import pytest
from bolt_client import BoltClient, served
from prometheus_client.parser import text_string_to_metric_families

import gpugda
from gpugda.errors import ConfigurationError
from gpugda.serve.messages import Tag

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
    ],
)  # fmt: skip
def test_failures(server, statement, more, status, code):
    found, body = ask(server, statement, **more)
    assert (found, body["errors"][0]["code"]) == (status, code)


def test_bodies_that_are_none(server):
    path = "/db/neo4j/query/v2"
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
