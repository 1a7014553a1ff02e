"""Export and on-demand properties, against a real Neo4j."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import closing, suppress

import neo4j
import numpy as np
import pytest
from gpugda_adapters import bolt_export, bolt_properties, bolt_relationships, bolt_walk
from gpugda_adapters.bolt_pages import Pace
from gpugda_adapters.bolt_reading import PageReader
from gpugda_adapters.neo4j_bolt import BoltSource
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time
from neo4j_servers import free_port
from tcp_proxy import TcpProxy

from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import ColumnKind, to_values
from gpugda.errors import SourceError, StaleSnapshotError
from gpugda.ports import SilentProgress

pytestmark = pytest.mark.neo4j

LABELS = [(), ("A",), ("B",), ("A", "B"), ("C d",), ("`quoted`",)]
TYPES = ["R", "S", "of `two` words"]
SEEKS = {"NodeByIdSeek", "DirectedRelationshipByIdSeek"}


def open_source(server, **options):
    return closing(BoltSource(server.uri, auth=server.auth, environment={}, **options))


def exported(source):
    """``{id: labels}`` and ``{id: (source, type, target)}`` of the exported graph."""
    with source.read(SilentProgress()) as batches:
        graph = build_data_graph(batches)
    ids = graph.external_ids
    numbers = ids.nodes.tolist()
    nodes = {number: frozenset(graph.node_labels(index)) for index, number in enumerate(numbers)}
    rows = zip(
        graph.start_nodes(), graph.relationship_types(), graph.outgoing.neighbours, strict=True
    )
    relationships = {
        number: (numbers[start], graph.types.name(int(kind)), numbers[end])
        for number, (start, kind, end) in zip(ids.relationships.tolist(), rows, strict=True)
    }
    return nodes, relationships


def stored(server):
    """The same, queried row by row."""
    nodes = {
        number: frozenset(labels)
        for number, labels in server.run("MATCH (n) RETURN id(n), labels(n)")
    }
    rows = server.run("MATCH (n)-[r]->(m) RETURN id(r), id(n), type(r), id(m)")
    return nodes, {number: (start, kind, end) for number, start, kind, end in rows}


@pytest.fixture
def asked(monkeypatch):
    """All queries of page readers: text with prefix, parameters."""
    found = []
    ask = PageReader._ask_once

    def remember(self, text, parameters, decode):
        found.append((text, dict(parameters)))
        return ask(self, text, parameters, decode)

    monkeypatch.setattr(PageReader, "_ask_once", remember)
    return found


@pytest.fixture
def small_pages(monkeypatch):
    for module in (bolt_walk, bolt_relationships):
        monkeypatch.setattr(module, "PAGE", 8)
    monkeypatch.setattr(bolt_walk, "_ROUND", 32)
    monkeypatch.setattr(bolt_walk, "_SMALLEST_ROUND", 5)


# ------------------------------------------------------------------ the graph
@st.composite
def graphs(draw):
    nodes = [(draw(st.sampled_from(LABELS)), {}) for _ in range(draw(st.integers(0, 25)))]
    if not nodes:
        return nodes, []
    ends = st.integers(0, len(nodes) - 1)
    relationships = st.tuples(ends, st.sampled_from(TYPES), ends, st.just({}))
    return nodes, draw(st.lists(relationships, max_size=60))


def escaped(nodes, relationships):
    """Names as written within backticks."""
    return (
        [([name.replace("`", "``") for name in labels], row) for labels, row in nodes],
        [(start, kind.replace("`", "``"), end, row) for start, kind, end, row in relationships],
    )


@pytest.mark.parametrize("path", ["by id", "by node"])
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    graph=graphs(),
    labels=st.none() | st.just(("A", "`quoted`")),
    types=st.none() | st.just(TYPES[1:]),
)
def test_random_multigraphs_are_exported_exactly(server, small_pages, path, graph, labels, types):
    server.create(*escaped(*graph))
    nodes, relationships = stored(server)
    if labels is not None:
        nodes = {each: row for each, row in nodes.items() if row & set(labels)}
    relationships = {
        each: row
        for each, row in relationships.items()
        if {row[0], row[2]} <= set(nodes) and (types is None or row[1] in types)
    }
    with pytest.MonkeyPatch.context() as patch:
        if path == "by node":
            patch.setattr(bolt_export._Export, "_few_start", lambda *arguments: True)
        with open_source(server, labels=labels, types=types) as source:
            assert exported(source) == (nodes, relationships)


def test_an_empty_database_is_exported(each_server):
    each_server.wipe()
    with open_source(each_server) as source:
        assert exported(source) == ({}, {})


def test_element_ids_are_the_servers(each_server):
    each_server.create([("A", {}), ("B", {})], [(0, "R", 1, {}), (1, "R", 0, {})])
    with open_source(each_server) as source, source.read(SilentProgress()) as batches:
        ids = build_data_graph(batches).external_ids
    (nodes,) = each_server.run("MATCH (n) WITH n ORDER BY id(n) RETURN collect(elementId(n))")
    assert [f"{ids.node_prefix}{each}" for each in ids.nodes.tolist()] == nodes[0]
    (found,) = each_server.run("MATCH ()-[r]->() RETURN collect(elementId(r))")
    assert {f"{ids.relationship_prefix}{each}" for each in ids.relationships.tolist()} == set(
        found[0]
    )


@pytest.mark.slow
def test_few_nodes_with_large_ids_are_exported(server):
    server.wipe()
    for _ in range(6):
        server.run("UNWIND range(1, 50000) AS i CREATE (:Gone)")
    server.run("UNWIND range(1, 3) AS i CREATE (a:Kept)-[:R]->(b:Kept)")
    server.run(
        "MATCH (n:Gone) WHERE id(n) % 77777 <> 5 CALL { WITH n DELETE n } IN TRANSACTIONS OF 20000 ROWS"
    )
    with open_source(server) as source:
        assert exported(source) == stored(server)
    with open_source(server, labels=["Kept"]) as source:
        assert len(exported(source)[0]) == 6


def test_a_hub_is_read_in_parts(server, monkeypatch, asked):
    for module in (bolt_walk, bolt_relationships):
        monkeypatch.setattr(module, "PAGE", 1000)
    monkeypatch.setattr(bolt_export._Export, "_few_start", lambda *arguments: True)
    server.wipe()
    server.run("UNWIND range(0, 12000) AS i CREATE (:Leaf)")
    # Ids of deleted nodes are reused, so a hub's id may lie between those of other nodes.
    server.run("MATCH (h) WITH h ORDER BY id(h) SKIP 6000 LIMIT 1 SET h:Hub REMOVE h:Leaf")
    server.run("MATCH (h:Hub), (a:Leaf) CREATE (h)-[:R]->(a)-[:S]->(h)")
    with open_source(server) as source:
        assert exported(source) == stored(server)
    assert any("$parts" in text for text, _ in asked)


# ------------------------------------------------------------------ plans
def leaves(plan):
    children = plan.get("children") or []
    return [leaf for child in children for leaf in leaves(child)] or [plan["operatorType"]]


def explained(server, text, parameters):
    with server.driver.session() as session:
        return session.run(text, parameters).consume().plan


@pytest.mark.slow
@pytest.mark.parametrize("projection", [{}, {"labels": ["Rare"]}, {"types": ["RARE"]}], ids=str)
@pytest.mark.parametrize("path", ["by id", "by node"])
def test_pages_are_seeks(each_server, asked, monkeypatch, projection, path):
    each_server.wipe()
    each_server.run("UNWIND range(1, 3000) AS i CREATE (:A {k: i})-[:R {k: i}]->(:B)")
    each_server.run("CREATE (a:Rare {k: 1})-[:RARE {k: 2}]->(b:Rare), (b)-[:R]->(a)")
    if path == "by node":
        monkeypatch.setattr(bolt_relationships, "PAGE", 1)
        monkeypatch.setattr(bolt_export._Export, "_few_start", lambda *arguments: True)
    with open_source(each_server, **projection) as source:
        with source.read(SilentProgress()) as batches:
            graph = build_data_graph(batches)
        for of_nodes, ids in (
            (True, graph.external_ids.nodes),
            (False, graph.external_ids.relationships),
        ):
            source.read_properties(["k"], ids, None, of_nodes=of_nodes)
            source.read_properties(None, ids[::5], None, of_nodes=of_nodes)
            source.read_entities(ids[:1], None, of_nodes=of_nodes)
        versions = [""] if each_server.version.startswith("5") else ["CYPHER 5 ", "CYPHER 25 "]
    pages = {text: parameters for text, parameters in asked if " IN ids" in text}
    assert len(pages) >= 6
    # A plan for the few nodes of an earlier test would be cached and used for these nodes, too.
    each_server.run("CALL db.clearQueryCaches()")
    for text, parameters in pages.items():
        for version in versions:
            bare = text.removeprefix("CYPHER 5 ")
            plan = explained(each_server, f"{version}EXPLAIN {bare}", parameters)
            found = {leaf.partition("@")[0] for leaf in leaves(plan)} - {"Projection"}
            assert found <= SEEKS, f"{found} in {version}{bare}"
            assert found


# ------------------------------------------------------------------ properties
VALUES = {
    "boolean": [True, False],
    "integer": [0, -1, 2**63 - 1, -(2**63)],
    "float": [0.0, -0.5, 1e300, float("inf"), 0.1],
    "text": ["", "a", "ü 語 🙂", "x" * 10_000],
    "date": [Date(2024, 2, 29), Date(1, 1, 1), Date(9999, 12, 31)],
    "local_time": [Time(12, 30, 1, 123456789)],
    "local_datetime": [DateTime(2024, 2, 29, 12, 30, 1, 999999999)],
    "duration": [Duration(months=13, days=-2, seconds=3, nanoseconds=7)],
    "point": [
        CartesianPoint((1.0, 2.5)),
        CartesianPoint((1.0, 2.0, 3.0)),
        WGS84Point((12.5, 55.0)),
    ],
    "integers": [[], [1, 2, 3]],
    "floats": [[1.5, float("inf")]],
    "texts": [["a", "", "ü"]],
    "dates": [[Date(2024, 2, 29), Date(1999, 1, 1)]],
    "mixed": [1, 1.5, "1", True, [1], Date(2024, 1, 1)],
    "rare": [7],
}


def same(first, second):
    return type(first) is type(second) and repr(first) == repr(second)


@pytest.mark.parametrize("of_nodes", [True, False], ids=["nodes", "relationships"])
@pytest.mark.parametrize("named", [True, False], ids=["keys", "all keys"])
def test_values_of_every_kind_are_read_exactly(each_server, of_nodes, named):
    rows = [
        {key: values[i % len(values)] for key, values in VALUES.items() if key != "rare" or i == 17}
        if i % 4
        else {}
        for i in range(60)
    ]
    nodes = [("A", row if of_nodes else {}) for row in rows]
    relationships = [] if of_nodes else [(i, "R", 0, row) for i, row in enumerate(rows)]
    each_server.create(nodes, relationships)
    zoned = "datetime({year: 2024, month: 7, day: 1, hour: i, minute: 0, second: 1, nanosecond: 5, timezone: 'Europe/Berlin'})"
    pattern = "MATCH (x)" if of_nodes else "MATCH ()-[x]->()"
    each_server.run(
        f"{pattern} WITH x, id(x) % 20 AS i SET x.zoned = {zoned}, x.offset = time('12:00:00.000000001+05:30'), "
        f"x.zones = [datetime('2024-01-01T00:00:00-03:00'), {zoned}]"
    )
    table = {
        number: dict(row)
        for number, row in each_server.run(f"{pattern} RETURN id(x), properties(x)")
    }
    ids = np.array(sorted(table), dtype=np.int64)
    if not of_nodes:
        ids = np.random.default_rng(1).permutation(ids)
    keys = [*VALUES, "zoned", "offset", "zones", "no such `key`"] if named else None
    with open_source(each_server) as source:
        columns = source.read_properties(keys, ids, source.probe(), of_nodes=of_nodes)
        entities = source.read_entities(ids[::-3], source.probe(), of_nodes=of_nodes).rows
    for key in keys or [*VALUES, "zoned", "offset", "zones"]:
        values = to_values(columns[key])
        expected = [table[number].get(key) for number in ids.tolist()]
        assert all(map(same, values, expected)), key
    kinds = {key: columns[key].kind for key in ("boolean", "integer", "float", "text", "mixed")}
    assert list(kinds.values()) == [
        ColumnKind.BOOLEAN,
        ColumnKind.INTEGER,
        ColumnKind.FLOAT,
        ColumnKind.STRING,
        ColumnKind.OBJECT,
    ]
    for number, row in zip(ids[::-3].tolist(), entities, strict=True):
        assert row.keys() == table[number].keys()
        assert all(same(row[key], table[number][key]) for key in row)


def test_properties_of_some_ids_are_read_in_many_pages(server):
    server.wipe()
    server.run(
        "UNWIND range(1, 20000) AS i CREATE (:A {i: i, s: CASE WHEN i % 50 = 0 THEN toString(i) END})"
    )
    (rows,) = server.run("MATCH (n) WITH n ORDER BY id(n) RETURN collect([id(n), n.i, n.s])")
    for chosen in (rows[0], rows[0][::7], rows[0][5:9]):
        ids = np.array([row[0] for row in chosen], dtype=np.int64)
        with open_source(server) as source:
            columns = source.read_properties(["i", "s"], ids, None, of_nodes=True)
        assert to_values(columns["i"]) == [row[1] for row in chosen]
        assert to_values(columns["s"]) == [row[2] for row in chosen]


def test_no_ids_have_no_properties(server):
    with open_source(server) as source:
        nothing = np.empty(0, dtype=np.int64)
        found = source.read_properties(["a"], nothing, None, of_nodes=True)
        assert all(len(column) == 0 for column in found.values())
        assert source.read_entities(nothing, None, of_nodes=False).rows == []


@pytest.mark.parametrize("of_nodes", [True, False], ids=["nodes", "relationships"])
def test_deleted_ids_make_the_snapshot_stale(server, of_nodes):
    server.create([("A", {}), ("A", {}), ("A", {})], [(0, "R", 1, {}), (1, "R", 0, {})])
    pattern = "(x)" if of_nodes else "()-[x]->()"
    (found,) = server.run(f"MATCH {pattern} RETURN collect(id(x))")
    for ids in ([*found[0], 10**7], [10**7], [10**7, *found[0]]):
        with open_source(server) as source:
            numbers = np.array(ids, dtype=np.int64)
            with pytest.raises(StaleSnapshotError, match="changed"):
                source.read_entities(numbers, None, of_nodes=of_nodes)
            with pytest.raises(StaleSnapshotError, match="changed"):
                source.read_properties(["a"], np.sort(numbers), None, of_nodes=of_nodes)


def test_a_vector_is_refused_in_columns(neo4j_2026):
    neo4j_2026.wipe()
    try:
        neo4j_2026.run("CYPHER 25 CREATE (:A {v: vector([1, 2, 3], 3, FLOAT32)})")
    except neo4j.exceptions.Neo4jError as error:
        pytest.skip(f"no vectors can be stored there: {error.message}")
    ids = np.array([neo4j_2026.run("MATCH (n) RETURN id(n)")[0][0]])
    with open_source(neo4j_2026) as source:
        with pytest.raises(SourceError, match="native"):
            source.read_properties(["v"], ids, None, of_nodes=True)
        (row,) = source.read_entities(ids, None, of_nodes=True).rows
    assert type(row["v"]).__name__ == "Vector"


# ------------------------------------------------------------------ faults
def many(server, nodes=60_000):
    server.wipe()
    server.run("UNWIND range(1, $nodes) AS i CREATE (:A)-[:R]->(:B)", nodes=nodes)


def test_a_lost_connection_is_replaced_and_a_lost_server_is_an_error(server, monkeypatch):
    for module in (bolt_walk, bolt_relationships):
        monkeypatch.setattr(module, "PAGE", 2_000)
    many(server)
    with (
        TcpProxy(int(server.uri.rpartition(":")[2])) as proxy,
        closing(BoltSource(proxy.uri, auth=server.auth, environment={})) as source,
        source.read(SilentProgress()) as batches,
    ):
        nodes = iter(batches.nodes)
        next(nodes)
        proxy.cut()
        assert next(nodes).count > 0
        proxy.__exit__(None, None, None)
        with pytest.raises(SourceError, match="reading nodes failed"):
            list(nodes)
    assert_nothing_runs()


@pytest.mark.slow
def test_leaving_early_stops_all_readers(server):
    many(server)
    with open_source(server) as source:
        with suppress(KeyboardInterrupt), source.read(SilentProgress()) as batches:
            next(iter(batches.nodes))
            raise KeyboardInterrupt
        assert_nothing_runs()
        assert len(exported(source)[0]) == 120_000


@pytest.mark.slow
def test_writes_during_an_export_are_detected(server):
    many(server, 5_000)
    stop = threading.Event()

    def write():
        while not stop.is_set():
            server.run("MATCH (n) WITH n, rand() AS r ORDER BY r LIMIT 20 DETACH DELETE n")
            server.run("UNWIND range(1, 20) AS i CREATE (:A)-[:NEW]->(:C)")

    outcomes = Counter()
    writer = threading.Thread(target=write)
    with open_source(server) as source:
        writer.start()
        try:
            for _ in range(10):
                try:
                    before = source.probe()
                    exported(source)
                    outcomes["same" if source.probe() == before else "moved"] += 1
                except StaleSnapshotError:
                    outcomes["stale"] += 1
        finally:
            stop.set()
            writer.join()
        assert outcomes["same"] + outcomes["moved"] + outcomes["stale"] == 10
        assert exported(source) == stored(server)


@pytest.mark.slow
def test_an_export_works_with_little_transaction_memory(new_server, asked, monkeypatch):
    monkeypatch.setattr(bolt_properties, "Pace", lambda: Pace(16_384))
    small = new_server("export-memory", settings={"db.memory.transaction.max": "4m"})
    for first in range(0, 20_000, 100):
        small.run(
            "UNWIND range($first, $first + 99) AS i CREATE (:A {s: reduce(s = toString(i), j IN range(1, 500) | s + 'x')})",
            first=first,
        )
    with open_source(small) as source:
        nodes, _ = exported(source)
        numbers = np.array(sorted(nodes), dtype=np.int64)
        columns = source.read_properties(["s"], numbers, None, of_nodes=True)
    expected = [record[0] for record in small.run("MATCH (n) RETURN n.s ORDER BY id(n)")]
    assert to_values(columns["s"]) == expected
    pages = [row["last"] - row["first"] + 1 for text, row in asked if "values0" in text]
    assert min(pages) < max(pages), "memory was never short"


def assert_nothing_runs():
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        if not [each for each in threading.enumerate() if each.name.startswith("gpugda-bolt_")]:
            return
        time.sleep(0.05)
    raise AssertionError(threading.enumerate())


def test_a_closed_port_is_an_error():
    with pytest.raises(SourceError, match="Nothing listens"):
        BoltSource(f"bolt://127.0.0.1:{free_port()}", environment={})
