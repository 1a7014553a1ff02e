"""gpugda's plugin in both versions: the export equals the paged one; changes are complete."""

import random
import threading
import time
from contextlib import closing
from dataclasses import replace

import neo4j_servers
import numpy as np
import pytest
from applied_changes import StateOfGraph, rows_of
from gpugda_adapters.neo4j_bolt import BoltSource
from neo4j_servers import UnavailableError

from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import to_values
from gpugda.ports import ChangeBatch, ChangeGap, SilentProgress

KEYS = ("x", "w")


@pytest.fixture(scope="module")
def jar():
    try:
        return neo4j_servers.plugin_jar()
    except UnavailableError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=[neo4j_servers.IMAGE, neo4j_servers.IMAGE_2026])
def plugged(request, jar, new_server):
    """A server with the plugin and a small ring buffer of changes; it begins with `wipe`."""
    name = f"plugin-{neo4j_servers.VERSIONS.get(request.param, 'other')}"
    settings = {"server.gpugda.changes.max_size": "1m"}
    return new_server(name, image=request.param, settings=settings, plugins=[jar])


@pytest.fixture
def source(plugged):
    plugged.start()
    plugged.wipe()
    with closing(BoltSource(plugged.uri, auth=plugged.auth, sessions=2)) as opened:
        assert opened.facts.plugin
        yield opened


def without_plugin(source):
    """The same connection, reading without the plugin, until the facts are read again."""
    source._connection.facts = replace(source._connection.facts, plugin="")


def read(source, keys=()):
    """The whole current graph."""
    found = StateOfGraph()
    with source.read(SilentProgress()) as batches:
        for batch in batches.nodes:
            found._create_nodes(batch)
        for batch in batches.relationships:
            found.relationships.update(rows_of(batch))
    for of_nodes, table in ((True, found.labels), (False, found.relationships)):
        ids = np.array(sorted(table), dtype=np.int64)
        for key in keys:
            columns = source.read_properties([key], ids, source.probe(), of_nodes=of_nodes)
            values = to_values(columns[key]) if key in columns else [None] * len(ids)
            for number, value in zip(ids.tolist(), values, strict=True):
                found.set_properties(of_nodes, number, {key: value})
    return found


# ------------------------------------------------------------------ export
VALUES = [
    "1",
    "1.5",
    "true",
    "'text'",
    "'ünï𝄞'",
    "''",
    "[1, 2]",
    "['a']",
    "date('2020-02-29')",
    "point({x: 1, y: 2})",
    "duration('P1M')",
    "datetime('2020-01-01T00:00:00[Europe/Berlin]')",
]


def test_an_export_by_the_plugin_equals_one_by_pages(plugged, source):
    plugged.run(
        "UNWIND range(0, 3000) AS i CREATE (n:A {i: i}) FOREACH (_ IN CASE WHEN i % 3 = 0 THEN [1] "
        "ELSE [] END | SET n:B:`C d`) FOREACH (_ IN CASE WHEN i % 7 = 0 THEN [1] ELSE [] END | REMOVE n:A)"
    )
    plugged.run(
        "MATCH (n), (m) WHERE m.i = (n.i * 7) % 3001 CREATE (n)-[:R {w: n.i / 2.0}]->(m), (m)-[:`odd S`]->(n)"
    )
    plugged.run("MATCH (n) WHERE n.i % 5 = 1 DETACH DELETE n")
    many = ":".join(f"Label{place}" for place in range(40))
    plugged.run(f"MATCH (n) WHERE n.i % 11 = 0 SET n:{many}")  # more than fit a node's record
    for place, value in enumerate(VALUES):
        plugged.run(f"MATCH (n {{i: {place * 10}}}) SET n.mixed = {value}, n.only{place} = {value}")
    keys = ["i", "mixed", "w", *(f"only{place}" for place in range(len(VALUES)))]
    by_plugin = read(source, keys)
    graph = build(source)
    without_plugin(source)
    source._connection.recheck = lambda: None
    assert by_plugin == read(source, keys)
    pages = build(source)
    assert np.array_equal(graph.external_ids.nodes, pages.external_ids.nodes)
    assert np.array_equal(graph.outgoing.neighbours, pages.outgoing.neighbours)
    assert len(by_plugin.relationships) > 1000


def build(source):
    with source.read(SilentProgress()) as batches:
        return build_data_graph(batches)


def test_all_properties_are_read(plugged, source):
    plugged.run("CREATE ({a: 1}), ({b: 'x', c: [1.5]}), ()")
    with source.read(SilentProgress()) as batches:
        ids = np.concatenate([np.asarray(batch.ids) for batch in batches.nodes])
    found = source.read_properties(None, ids, source.probe(), of_nodes=True)
    assert {key: to_values(column) for key, column in found.items()} == {
        "a": [1, None, None],
        "b": [None, "x", None],
        "c": [None, [1.5], None],
    }


def test_pages_include_changes_of_their_own_transaction(plugged, source):
    plugged.run("UNWIND range(1, 5) AS i CREATE (:A)-[:R]->(:B)")
    calls = {
        "(x)": "CALL gpugda.nodes(0, 1048575)",
        "()-[x]->()": "CALL gpugda.relationships(0, 1048575)",
    }
    with plugged.driver.session() as session, session.begin_transaction() as transaction:
        for change in (
            None,
            "CREATE (:C)-[:S]->(:D)",
            "MATCH (n:A) WITH n LIMIT 2 DETACH DELETE n",
        ):
            if change:
                transaction.run(change).consume()
            for pattern, call in calls.items():
                there = transaction.run(f"MATCH {pattern} RETURN collect(id(x)) AS ids").single()
                ids, count = [], 0
                for row in transaction.run(call):
                    ids += (np.frombuffer(row["ids"], "<u4") + row["first"]).tolist()
                    count += row["count"]
                assert ids == sorted(there["ids"]), (change, pattern)
                assert count == len(ids)


def test_an_empty_database_is_exported(source):
    assert read(source) == StateOfGraph()


# ------------------------------------------------------------------ changes
class Follower:
    """A state that changes keep up to date."""

    def __init__(self, source):
        self.source = source
        self.changes = source.change_source()
        self.version = self.changes.follow(KEYS, KEYS)
        self.state = read(source, KEYS)

    def catch_up(self):
        now = self.source.probe()
        batch = self.changes.changes_since(self.version, now)
        assert isinstance(batch, ChangeBatch), batch
        assert batch.version.transaction >= now.transaction
        assert batch.since == self.version.transaction
        self.state.apply(batch, KEYS)
        self.version = batch.version
        return batch


STATEMENTS = [
    "CREATE (n:A {x: $i})-[:R {w: $i}]->(:B {x: 'text'})",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 1 DETACH DELETE n",
    "MATCH ()-[r]->() WITH r ORDER BY rand() LIMIT 1 DELETE r",
    "MATCH (a), (b) WITH a, b ORDER BY rand() LIMIT 1 CREATE (a)-[:S {w: 1.5}]->(b)",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 2 SET n:C, n.x = $i REMOVE n:A",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 2 SET n:A REMOVE n:C, n.x",
    "MATCH ()-[r]->() WITH r ORDER BY rand() LIMIT 1 SET r.w = [1, $i], r.other = 1",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 1 SET n = {x: date('2020-01-01'), y: $i}",
    "CREATE (n {x: 1}) DELETE n",
    "CREATE ()",
    "MATCH (a)-[r]->(b) WITH a, r, b LIMIT 1 DELETE r CREATE (b)-[:R]->(a)",
]


def test_random_transactions_are_followed_exactly(plugged, source):
    plugged.run("UNWIND range(1, 20) AS i CREATE (:A {x: i})-[:R]->(:B)")
    follower = Follower(source)
    draw = random.Random(15)
    for turn in range(60):
        with plugged.driver.session() as session, session.begin_transaction() as transaction:
            for _ in range(draw.randint(1, 4)):
                transaction.run(draw.choice(STATEMENTS), i=turn).consume()
            if draw.random() < 0.75:
                transaction.commit()
        if draw.random() < 0.3:
            follower.catch_up()
            assert follower.state == read(source, KEYS)
    follower.catch_up()
    assert follower.state == read(source, KEYS)


def test_transactions_without_data_changes_leave_no_gap(plugged, source):
    follower = Follower(source)
    before = source.probe()
    plugged.run("CREATE INDEX gpugda_some IF NOT EXISTS FOR (n:Some) ON (n.thing)")
    plugged.run("CALL db.createLabel('NeverUsed')") if plugged.version < "6" else None
    plugged.run("DROP INDEX gpugda_some")
    batch = follower.catch_up()
    assert batch.transaction_count == 0
    assert batch.version.transaction > before.transaction
    plugged.run("MATCH (n) DETACH DELETE n")
    plugged.run(
        "UNWIND range(1, 10) AS i CALL { WITH i CREATE (:D {x: i}) } IN TRANSACTIONS OF 2 ROWS"
    )
    assert follower.catch_up().transaction_count == 5
    assert follower.state == read(source, KEYS)


def test_transactions_are_reported_whole(plugged, source):
    plugged.run("CREATE (:Left {x: 0}), (:Right {x: 0})")
    follower = Follower(source)
    left, right = sorted(follower.state.labels, key=lambda each: min(follower.state.labels[each]))
    stop = threading.Event()

    def write(number):
        with plugged.driver.session() as session:
            while not stop.is_set():
                session.run(
                    "MATCH (l:Left), (r:Right) SET l.x = l.x + 1, r.x = r.x + 1 CREATE (:Made {x: $n})",
                    n=number,
                ).consume()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for each in writers:
        each.start()
    deadline = time.monotonic() + 120  # a busy server's first writes may take long
    try:
        seen = []
        while len(set(seen)) < 20 and time.monotonic() < deadline:
            follower.catch_up()
            values = follower.state.values[True, "x"]
            assert values[left] == values[right]
            assert len(follower.state.labels) - 2 == values[left]
            seen.append(values[left])
    finally:
        stop.set()
        for each in writers:
            each.join()
    assert seen == sorted(seen)
    assert len(set(seen)) == 20
    follower.catch_up()
    assert follower.state == read(source, KEYS)


# ------------------------------------------------------------------ gaps
def gap_of(found):
    assert isinstance(found, ChangeGap), found
    return found.reason


def test_too_many_changes_are_a_gap(plugged, source):
    follower = Follower(source)
    plugged.run("UNWIND range(1, 50000) AS i CREATE ({x: i})")
    assert "more was changed" in gap_of(follower.changes.changes_since(follower.version))
    again = Follower(source)
    for _ in range(30):
        plugged.run("UNWIND range(1, 1500) AS i CREATE ({x: i})")
    assert "more was changed" in gap_of(again.changes.changes_since(again.version))
    newest = source.probe()
    plugged.run("CREATE (:Last)")
    batch = again.changes.changes_since(newest)
    assert batch.created_nodes.label_sets == (("Last",),)


def test_values_of_requested_keys_are_reported(plugged, source):
    changes = source.change_source()
    start = changes.follow()
    plugged.run("CREATE ({asked: 1, other: 1})")
    middle = changes.follow(["asked"])
    plugged.run("CREATE ({asked: 2, other: 2})")
    late = changes.changes_since(middle).node_properties
    assert to_values(late["asked"].values) == [2]
    assert late["other"].values is None
    assert changes.changes_since(start).node_properties["asked"].values is None


def test_a_restart_is_a_gap(plugged, source):
    follower = Follower(source)
    plugged.run("CREATE (:Before)")
    plugged.stop()
    plugged.start()
    assert "restarted" in gap_of(follower.changes.changes_since(follower.version))
    version = source.probe()
    with closing(BoltSource(plugged.uri, auth=plugged.auth)) as another:
        assert "not recorded" in gap_of(another.change_source().changes_since(version))
    again = Follower(source)
    older = replace(again.version, transaction=version.transaction - 1)
    assert "more was changed" in gap_of(again.changes.changes_since(older))
    assert again.state == read(source, KEYS)


def test_a_plugin_without_permission_is_not_used(jar, new_server):
    settings = {"dbms.security.procedures.allowlist": "db.*,dbms.*"}
    server = new_server("plugin-forbidden", settings=settings, plugins=[jar])
    server.wipe()
    server.run("CREATE (:A)-[:R]->(:B)")
    with closing(BoltSource(server.uri, auth=server.auth)) as source:
        assert source.facts.plugin == ""
        assert "gpugda plugin install" in source.facts.plugin_advice
        assert source.change_source() is None
        assert len(read(source).labels) == 2
