"""Faults of a followed server: restored, without its plugin, killed beside a watch or processes."""

import os
import queue
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from neo4j_servers import LocalServer

import gpugda

pytestmark = pytest.mark.slow
SETUP = "UNWIND range(1, 50) AS i CREATE (:P {x: i % 5})-[:R {w: i}]->(:P {x: 'text ' + i})"
QUERIES = (
    "MATCH (n:P) RETURN n.x AS x, count(*) AS n ORDER BY x",
    "MATCH (a)-[r:R]->(b) RETURN a.x, r.w, b.x ORDER BY r.w",
    "MATCH (n:Q) RETURN n.x ORDER BY n.x",
)
PAIR = "MATCH (l:Left), (r:Right) RETURN l.x, r.x"
WRITE = "MATCH (l:Left), (r:Right) SET l.x = l.x + 1, r.x = r.x + 1 CREATE (:Made)"


@pytest.fixture(scope="module")
def plugged(new_server, plugin_jar):
    return new_server("live-faults", plugins=[plugin_jar])


@pytest.fixture
def graph(plugged):
    plugged.start()
    plugged.load([SETUP, "CREATE (:Left {x: 0}), (:Right {x: 0})"])
    return plugged


@pytest.fixture
def home(graph):
    """The folder with the server's data and plugins."""
    if not isinstance(graph, LocalServer):
        pytest.skip("the files of a container are not the tests'")
    return Path(graph._home)


@pytest.fixture
def accelerator(graph):
    with closing(gpugda.connect(graph.uri, auth=graph.auth, cache=False)) as opened:
        opened.warm()
        yield opened


def assert_answers(accelerator):
    """The device's answers equal Neo4j's."""
    for text in QUERIES:
        native = accelerator.run(text, engine="native").values()
        for engine in ("gpu", "auto"):
            assert accelerator.run(text, engine=engine).values() == native, (text, engine)


def add(server, *values):
    for value in values:
        server.run("CREATE (:Q {x: $x})", x=value)


def test_a_database_restored_in_place_is_exported_again(graph, home, accelerator, tmp_path):
    graph.stop()
    shutil.copytree(home / "data", tmp_path / "data")
    graph.start()
    add(graph, 1, 2, 3)
    assert_answers(accelerator)
    before = accelerator.status()["transaction"]
    graph.stop()
    shutil.rmtree(home / "data")
    shutil.copytree(tmp_path / "data", home / "data")
    graph.start()
    add(graph, 7, 8, 9)  # the same number of transactions with other contents
    assert_answers(accelerator)
    assert accelerator.status()["transaction"] == before
    add(graph, 10)
    assert_answers(accelerator)
    assert accelerator.status()["transactions_applied"] == 1


def test_a_plugin_may_be_removed_and_installed_again(graph, home, accelerator, tmp_path):
    (jar,) = (home / "plugins").glob("*.jar")
    graph.stop()
    shutil.move(jar, tmp_path / jar.name)
    graph.start()
    for value in (1, 2):
        add(graph, value)
        assert_answers(accelerator)
    status = accelerator.status()
    assert status["following"] == "not followed: the server does not report changes"
    assert status["advice"]
    graph.stop()
    shutil.move(tmp_path / jar.name, jar)
    graph.start()
    for value in (3, 4):
        add(graph, value)
        assert_answers(accelerator)
    assert accelerator.status()["following"].startswith("gpugda's plugin")


def test_a_watch_goes_on_after_the_server_was_killed(graph, accelerator):
    found = queue.SimpleQueue()
    watch = accelerator.watch(QUERIES[2], found.put, every=0.1)
    assert found.get(timeout=60).added == []
    for value in (1, 2):
        add(graph, value)
        changes = found.get(timeout=120)
        assert (changes.added, changes.removed) == ([[value]], [])
        graph.kill()
        time.sleep(0.5)
        graph.start()
    watch.close()
    assert found.empty()


READER = """
import sys, time, gpugda
from gpugda.live import keeper, shelf
keeper._KEEP_SECONDS = shelf._WORTH_SECONDS = 0.0  # each state goes to disk
uri, user, password, pair, seconds = sys.argv[1:]
until, seen, answers = time.monotonic() + float(seconds), 0, 0
while time.monotonic() < until:
    with gpugda.connect(uri, auth=(user, password) if user else None) as accelerator:
        for _ in range(5):
            try:
                ((left, right),) = accelerator.run(pair, engine="gpu").values()
                made = accelerator.run("MATCH (m:Made) RETURN count(m)", engine="gpu").single()[0]
            except gpugda.StaleSnapshotError:  # writes may come faster than a state can be read
                continue
            assert seen <= left == right <= made, (seen, left, right, made)
            seen, answers = left, answers + 1
print(answers)
"""


def test_processes_share_a_cache_folder_beside_writes(graph, tmp_path):
    command = [sys.executable, "-c", READER, graph.uri, *(graph.auth or ("", "")), PAIR, "10"]
    environment = {**os.environ, "GPUGDA_CACHE_DIR": str(tmp_path)}
    readers = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    while any(each.poll() is None for each in readers):
        graph.run(WRITE)
        time.sleep(0.02)
    for each in readers:
        answers, _ = each.communicate()
        assert each.returncode == 0
        assert int(answers) > 3
    assert list(tmp_path.rglob("*.snapshot"))
