"""Accelerated answers during writes, on a server with gpugda's plugin: fresh and consistent."""

import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import numpy as np
import pytest
from gpugda_adapters import bolt_export
from gpugda_adapters.bolt_nodes import read_nodes

import gpugda
from gpugda.data.values.columns import to_values

PEOPLE = 200
SETUP = [
    f"UNWIND range(0, {PEOPLE - 1}) AS i CREATE (:P {{i: i, x: i % 7}})",
    "MATCH (a:P), (b:P) WHERE a <> b AND (a.i * 31 + b.i * 17) % 12 = 0 CREATE (a)-[:R {w: a.i}]->(b)",
    "CREATE (:Left {x: 0}), (:Right {x: 0})",
]
PAIR = "MATCH (l:Left), (r:Right) RETURN l.x AS l, r.x AS r"
MADE = "MATCH (m:Made) RETURN count(m) AS made"
TRIANGLES = "MATCH (a:P)-[:R]->(b:P)-[:R]->(c:P)-[:R]->(a) RETURN count(*) AS n"
WRITE = (
    "MATCH (l:Left), (r:Right) SET l.x = l.x + 1, r.x = r.x + 1 CREATE (:Made {x: $n})-[:BY]->(l)"
)


@pytest.fixture(scope="module")
def plugged(new_server, plugin_jar):
    settings = {"server.gpugda.changes.max_size": "1m"}
    return new_server("following", settings=settings, plugins=[plugin_jar])


@pytest.fixture
def graph(plugged):
    plugged.start()
    plugged.load(SETUP)
    return plugged


@pytest.fixture
def accelerator(graph):
    with closing(gpugda.connect(graph.uri, auth=graph.auth, cache=False)) as opened:
        opened.warm()
        assert opened.status()["following"].startswith("gpugda's plugin")
        yield opened


def everything(accelerator):
    """The snapshot by ids, with the properties loaded so far."""
    graph = accelerator._answers.loaded.graph
    ids = graph.external_ids
    nodes = {
        number: (tuple(sorted(graph.node_labels(node))), {})
        for node, number in enumerate(ids.nodes.tolist())
    }
    starts, ends = ids.nodes[graph.start_nodes()], ids.nodes[graph.outgoing.neighbours]
    types = [graph.types.name(each) for each in graph.relationship_types().tolist()]
    rows = zip(ids.relationships.tolist(), starts.tolist(), types, ends.tolist(), strict=True)
    relationships = {number: ((start, kind, end), {}) for number, start, kind, end in rows}
    for table, store, numbers in (
        (nodes, graph.node_properties, ids.nodes),
        (relationships, graph.relationship_properties, ids.relationships),
    ):
        for key, column in store.columns.items():
            for number, value in zip(numbers.tolist(), to_values(column), strict=True):
                if value is not None:
                    table[number][1][key] = value
    return nodes, relationships


def in_database(server, keys=("x", "i", "w", "t")):
    nodes = {
        row[0]: (tuple(sorted(row[1])), {k: v for k, v in row[2].items() if k in keys})
        for row in server.run("MATCH (n) RETURN id(n), labels(n), properties(n)")
    }
    relationships = {
        row[0]: ((row[1], row[2], row[3]), {k: v for k, v in row[4].items() if k in keys})
        for row in server.run(
            "MATCH (a)-[r]->(b) RETURN id(r), id(a), type(r), id(b), properties(r)"
        )
    }
    return nodes, relationships


def read_all(accelerator):
    """Runs queries that load the compared columns."""
    accelerator.run("MATCH (n) RETURN max(n.x), max(n.i), max(n.t)", engine="gpu").values()
    accelerator.run("MATCH ()-[r]->() RETURN max(r.w), max(r.t)", engine="gpu").values()


def exports(accelerator):
    return accelerator.status()["load_seconds"]


def test_the_next_answer_includes_each_write(graph, accelerator):
    read_all(accelerator)
    before = exports(accelerator)
    for number in range(1, 11):
        graph.run(WRITE, n=number)
        result = accelerator.run(PAIR, engine="gpu")
        assert result.values() == [[number, number]]
        assert result.summary.engine == "gpu"
        assert accelerator.run(MADE, engine="gpu").single()[0] == number
    assert exports(accelerator) == before
    status = accelerator.status()
    assert status["transactions_applied"] == 10
    assert everything(accelerator) == in_database(graph)


def test_rolled_back_changes_are_never_visible(graph, accelerator):
    with graph.driver.session() as session:
        with session.begin_transaction() as transaction:
            transaction.run(WRITE, n=1).consume()
            assert accelerator.run(PAIR, engine="gpu").values() == [[0, 0]]
            transaction.rollback()
        session.run("CREATE (:Other)").consume()
    assert accelerator.run(PAIR, engine="gpu").values() == [[0, 0]]
    assert accelerator.run("MATCH (o:Other) RETURN count(*)", engine="gpu").single()[0] == 1


def test_a_new_property_is_read_on_demand(graph, accelerator):
    read_all(accelerator)
    graph.run("MATCH (p:P {i: 3}) SET p.fresh = 'new'")
    found = accelerator.run("MATCH (p:P) WHERE p.fresh = 'new' RETURN p.i", engine="gpu").values()
    assert found == [[3]]
    graph.run("MATCH (p:P {i: 4}) SET p.fresh = 'new'")
    found = accelerator.run(
        "MATCH (p:P) WHERE p.fresh = 'new' RETURN p.i ORDER BY p.i", engine="gpu"
    )
    assert found.values() == [[3], [4]]


class Beside:
    """A writer that changes two nodes together; readers record inconsistencies."""

    def __init__(self, graph, accelerator, engine):
        self.graph, self.accelerator, self.engine = graph, accelerator, engine
        self.stop, self.wrong = threading.Event(), []
        self.committed = self.by_device = 0

    def write(self):
        with self.graph.driver.session() as session:
            while not self.stop.wait(0.02):
                session.run(WRITE, n=self.committed).consume()
                self.committed += 1

    def read(self):
        seen = 0
        while not self.stop.is_set():
            least = max(seen, self.committed)
            result = self.accelerator.run(PAIR, engine=self.engine)
            if result.summary.engine == "gpu":
                ((left, right),) = result.values()
                seen = left
                self.judge(left, right, least)

    def judge(self, left, right, least):
        self.by_device += 1
        if left != right or left < least:
            self.wrong.append((left, right, least))
        made = self.accelerator.run(MADE, engine="gpu").single()[0]
        if made < left:
            self.wrong.append(("made", made, left))

    def run(self, seconds):
        threads = [threading.Thread(target=each) for each in (self.write, self.read, self.read)]
        for each in threads:
            each.start()
        time.sleep(seconds)
        self.stop.set()
        for each in threads:
            each.join(120)
            assert not each.is_alive()


@pytest.mark.parametrize("engine", ["gpu", "auto"])
def test_answers_beside_writers_are_consistent_and_current(graph, accelerator, engine):
    read_all(accelerator)
    before = exports(accelerator)
    beside = Beside(graph, accelerator, engine)
    beside.run(6)
    assert not beside.wrong, beside.wrong[:5]
    assert beside.committed > 3
    if engine == "gpu":
        assert beside.by_device > 3
        assert exports(accelerator) == before
    assert accelerator.run(PAIR, engine="gpu").values() == [[beside.committed] * 2]
    assert everything(accelerator) == in_database(graph)


STATEMENTS = [
    "CREATE (n:A {x: $i})-[:R {w: $i}]->(:B {t: 'text'})",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 1 DETACH DELETE n",
    "MATCH ()-[r]->() WITH r ORDER BY rand() LIMIT 2 DELETE r",
    "MATCH (a), (b) WITH a, b ORDER BY rand() LIMIT 2 CREATE (a)-[:S {w: 1.5}]->(b)",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 2 SET n:C, n.x = $i REMOVE n:A",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 2 SET n:A REMOVE n:C, n.x",
    "MATCH ()-[r]->() WITH r ORDER BY rand() LIMIT 1 SET r.w = [1, $i], r.other = 1",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 1 SET n = {x: date('2020-01-01'), t: 'is ' + $i}",
    "CREATE (n {x: 1}) DELETE n",
    "CREATE ()-[:Loop]->()",
    "MATCH (n) WITH n ORDER BY rand() LIMIT 1 CREATE (n)-[:Loop {t: $i}]->(n)",
    "MATCH (a)-[r]->(b) WITH a, r, b LIMIT 1 DELETE r CREATE (b)-[:R]->(a)",
]


def test_random_transactions_are_followed_exactly(plugged):
    plugged.start()
    plugged.load("UNWIND range(1, 30) AS i CREATE (:A {x: i, t: 'n'})-[:R {w: i}]->(:B)")
    draw = random.Random(3)
    with closing(gpugda.connect(plugged.uri, auth=plugged.auth, cache=False)) as accelerator:
        read_all(accelerator)
        before = exports(accelerator)
        for turn in range(60):
            with plugged.driver.session() as session, session.begin_transaction() as transaction:
                for _ in range(draw.randint(1, 4)):
                    transaction.run(draw.choice(STATEMENTS), i=turn).consume()
                if draw.random() < 0.75:
                    transaction.commit()
            if draw.random() < 0.4:
                accelerator.refresh()
                read_all(accelerator)
                assert everything(accelerator) == in_database(plugged)
                loops = "MATCH (a)-[r]->(a) RETURN count(r) AS n, count(DISTINCT a) AS m"
                found = accelerator.run(loops, engine="gpu").values()
                assert found == [list(row.values()) for row in plugged.run(loops)]
        assert exports(accelerator) == before
        graph = accelerator._answers.loaded.graph
        graph.outgoing.check()
        graph.incoming.check()


class Unresting:
    """Random transactions without pause."""

    def __init__(self, server):
        self.server, self.stop = server, threading.Event()
        self.thread = threading.Thread(target=self.write)

    def write(self):
        draw, turn = random.Random(5), 0
        with self.server.driver.session() as session:
            while not self.stop.is_set():
                turn += 1
                session.run(draw.choice(STATEMENTS), i=turn).consume()

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(120)


@pytest.mark.parametrize("pages", ["plugin", "bolt"])
def test_a_database_with_constant_writes_is_read(graph, pages, monkeypatch):
    if pages == "bolt":
        monkeypatch.setattr(
            bolt_export._Export,
            "_all_nodes",
            lambda export, reader, count: read_nodes(reader, count, moving=export._moving),
        )
        reading = bolt_export.RelationshipReading
        monkeypatch.setattr(reading, "by_plugin", reading.by_id)
    graph.run(
        f"UNWIND range(0, {PEOPLE // 4}) AS i CREATE (:P {{i: -i, x: i}})-[:R {{w: i}}]->(:Q)"
    )
    with closing(gpugda.connect(graph.uri, auth=graph.auth, cache=False)) as accelerator:
        keeper = accelerator._answers._keeper
        for _ in range(5):
            with Unresting(graph):
                time.sleep(0.2)
                keeper.follower._state.loaded = keeper._loaded = None
                keeper._failures = 1  # as after an inconsistent export
                accelerator.refresh()
            assert keeper.loaded.transactions == 0
            accelerator.refresh()
            read_all(accelerator)
            assert everything(accelerator) == in_database(graph)


def test_labels_are_listed_as_the_server_lists_them(graph):
    query = "MATCH (n:L1) RETURN labels(n) AS labels, count(*) AS n"
    graph.run("CREATE (n:L1) DELETE n")
    for labels in (":L3", ":L2 {k: 1}", ":L1:L2:L3"):
        graph.run(f"CREATE ({labels})")
    with closing(gpugda.connect(graph.uri, auth=graph.auth, cache=False)) as accelerator:
        accelerator.warm()
        before = exports(accelerator)
        for write in (
            "MATCH (n:L2 {k: 1}) SET n:L1:L3",
            "CREATE (:L3:L1:L2)",
            "CREATE (:L2:L3:L1)",
            "CREATE (:L4:L1), (:L1:L2)",
            "MATCH (n:L2 {k: 1}) REMOVE n:L3 SET n:L4",
        ):
            graph.run(write)
            found = accelerator.run(query, engine="gpu").values()
            expected = [list(row.values()) for row in graph.run(query)]
            assert sorted(found) == sorted(expected)
        assert exports(accelerator) == before


def test_a_process_continues_from_a_stored_snapshot(graph, tmp_path, monkeypatch):
    monkeypatch.setattr("gpugda.live.shelf._WORTH_SECONDS", 0.0)
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path))
    with closing(gpugda.connect(graph.uri, auth=graph.auth)) as first:
        read_all(first)
        assert first._answers._keeper.wait(60)
        transaction = first._answers._keeper.loaded.version.transaction
    for number in range(1, 6):
        graph.run(WRITE, n=number)
    with closing(gpugda.connect(graph.uri, auth=graph.auth)) as second:
        assert second.run(PAIR, engine="gpu").values() == [[5, 5]]
        loaded = second._answers._keeper.loaded
        assert loaded.transactions >= 5
        assert loaded.version.transaction >= transaction + 5
        read_all(second)
        assert everything(second) == in_database(graph)


def test_too_many_changes_cause_an_export(graph, accelerator):
    read_all(accelerator)
    graph.run("UNWIND range(1, 60000) AS i CREATE (:Many {x: i})")
    assert accelerator.run("MATCH (m:Many) RETURN count(m)", engine="gpu").single()[0] == 60_000
    status = accelerator.status()
    assert status["transactions_applied"] == 0
    graph.run(WRITE, n=1)
    assert accelerator.run(PAIR, engine="gpu").values() == [[1, 1]]
    assert accelerator.status()["transactions_applied"] == 1


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_restart_causes_an_export(graph, accelerator, end):
    read_all(accelerator)
    graph.run(WRITE, n=1)
    assert accelerator.run(PAIR, engine="gpu").values() == [[1, 1]]
    getattr(graph, end)()
    graph.start()
    graph.run(WRITE, n=2)
    assert accelerator.run(PAIR, engine="gpu").values() == [[2, 2]]
    assert accelerator.status()["transactions_applied"] == 0
    graph.run(WRITE, n=3)
    assert accelerator.run(PAIR, engine="gpu").values() == [[3, 3]]
    assert accelerator.status()["transactions_applied"] == 1
    assert np.all(np.diff(accelerator._answers.loaded.graph.external_ids.nodes) > 0)


def test_two_accelerators_of_a_process_share_an_export(graph, accelerator):
    with closing(gpugda.connect(graph.uri, auth=graph.auth, cache=False)) as other:
        assert other._answers.loaded is accelerator._answers.loaded
        graph.run(WRITE, n=1)
        assert accelerator.run(PAIR, engine="gpu").values() == [[1, 1]]
        assert other.run(PAIR, engine="gpu").values() == [[1, 1]]


# ------------------------------------------------------------------ a client that is killed
CLIENT = """
import sys, gpugda
from gpugda.live import keeper, shelf
keeper._KEEP_SECONDS = shelf._WORTH_SECONDS = 0.0  # each state goes to disk
uri, user, password, *texts = sys.argv[1:]
with gpugda.connect(uri, auth=(user, password) if user else None) as accelerator:
    for text in texts:
        accelerator.run(text, engine="gpu").values()
    print("began", flush=True)
    while True:
        assert len(set(accelerator.run(texts[0], engine="gpu").values()[0])) == 1
"""


@pytest.mark.slow
def test_a_client_killed_while_applying_changes_affects_no_other(graph, tmp_path, monkeypatch):
    """Neither clients that share its cache folder nor later ones are affected."""
    monkeypatch.setattr("gpugda.live.shelf._WORTH_SECONDS", 0.0)
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path))
    written = 0
    with closing(gpugda.connect(graph.uri, auth=graph.auth)) as beside:
        read_all(beside)
        for delay in (0.05, 0.4, 1.1):
            command = [sys.executable, "-c", CLIENT, graph.uri, *(graph.auth or ("", "")), PAIR]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
                assert client.stdout.readline() == b"began\n"
                end = time.monotonic() + delay
                while time.monotonic() < end:
                    written += 1
                    graph.run(WRITE, n=written)
                client.send_signal(signal.SIGKILL)
            assert client.returncode == -signal.SIGKILL
            assert beside.run(PAIR, engine="gpu").values() == [[written, written]]
            with closing(gpugda.connect(graph.uri, auth=graph.auth)) as after:
                assert after.run(PAIR, engine="gpu").values() == [[written, written]]
                read_all(after)
                assert everything(after) == in_database(graph)
        read_all(beside)
        assert everything(beside) == in_database(graph)
    assert written > 3
    assert list(tmp_path.rglob("*"))  # it was shared
