"""Server and connection faults: a clear error or a native answer, and no leaks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import neo4j
import pytest
from neo4j_servers import AUTH, free_port
from soon import ends_in
from tcp_proxy import TcpProxy

import gpugda
from gpugda.errors import GpugdaError, QueryTimeoutError, SourceError

pytestmark = pytest.mark.slow
NODES, RELATIONSHIPS = 60_000, 180_000
PAIRS = "MATCH (a:P)-[:R]->(b:P) RETURN count(*)"
COLLECTS = "UNWIND range(1, 3000000) AS i WITH collect(toString(i)) AS texts RETURN size(texts)"
RUNNING = """SHOW TRANSACTIONS YIELD currentQuery
WHERE currentQuery CONTAINS '+ c.i =' AND NOT currentQuery CONTAINS 'SHOW' RETURN 1"""
ENDLESS = "MATCH (a:P), (b:P), (c:P) WHERE a.i * b.i + c.i = -1 RETURN count(*)"
ERRORS = (GpugdaError, neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError)


@pytest.fixture(scope="module")
def faulty(own_server):
    """A graph whose export takes a while."""
    made = own_server
    made.start()
    made.wipe()
    made.run(f"UNWIND range(0, {NODES - 1}) AS i CREATE (:P {{i: i}})")
    made.run(
        "MATCH (p:P) WITH collect(p) AS people UNWIND range(0, $last) AS j "
        "WITH people[j % size(people)] AS a, people[(j * 7 + j / size(people)) % size(people)] AS b CREATE (a)-[:R]->(b)",
        last=RELATIONSHIPS - 1,
    )
    return made


@pytest.fixture
def own(faulty):
    """The running server, whatever the last test did."""
    faulty.start()
    return faulty


@pytest.fixture
def proxy(own):
    with TcpProxy(port_of(own)) as made:
        yield made


def port_of(server):
    return int(server.uri.rpartition(":")[2])


def connect(server, uri=None, **options):
    return gpugda.connect(uri or server.uri, auth=AUTH, **{"cache": False, **options})


def connections(server):
    """The server's number of connections."""
    return server.run("CALL dbms.listConnections() YIELD connectionId RETURN count(*)")[0][0]


@contextmanager
def nothing_left(server=None):
    """Asserts that no new thread of ours and no new connection to the server remains."""
    before = set(threading.enumerate())
    open_before = connections(server) if server else 0
    yield
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        threads = [t for t in threading.enumerate() if t not in before and t.name != "tcp-proxy"]
        still_open = connections(server) if server else 0
        if not threads and still_open <= open_before:
            return
        time.sleep(0.1)
    assert not threads
    assert still_open <= open_before


def attempt(act):
    """(result, None) or (None, error)."""
    try:
        return act(), None
    except ERRORS as error:
        return None, error


def assert_answers(server):
    """Asserts normal answers."""
    with connect(server) as accelerator:
        for engine in ("gpu", "native"):
            assert accelerator.run(PAIRS, engine=engine).single()[0] == RELATIONSHIPS


# ------------------------------------------------------------------ connecting
def test_a_wrong_password_is_an_error(own):
    with nothing_left(own), pytest.raises(ERRORS) as raised:
        gpugda.connect(own.uri, auth=("neo4j", "not-the-secret"), cache=False)
    assert "not-the-secret" not in str(raised.value)
    assert any(word in str(raised.value).lower() for word in ("password", "unauthorized", "auth"))


def test_a_missing_password_is_an_error(own, monkeypatch):
    monkeypatch.delenv("NEO4J_PASSWORD", raising=False)
    with nothing_left(own), pytest.raises(ERRORS):
        gpugda.connect(own.uri, auth=None, cache=False)


def test_a_missing_database_is_an_error(own):
    with nothing_left(own), pytest.raises(ERRORS, match="nowhere"):
        connect(own, database="nowhere")


def test_a_closed_port_is_an_error():
    with ends_in(), nothing_left(), pytest.raises(SourceError):
        gpugda.connect(f"bolt://127.0.0.1:{free_port()}", auth=AUTH, cache=False)


# ------------------------------------------------------------------ during an export
@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_a_cut_connection_during_the_export_is_replaced(own, proxy, share):
    with connect(own, proxy.uri):
        whole = proxy.received
    with nothing_left(own):
        cut = proxy.after(int(whole * share), proxy.cut)
        accelerator, error = attempt(lambda: connect(own, proxy.uri))
        assert AUTH[1] not in str(error)
        if accelerator is not None:  # a retry found the proxy running again
            with accelerator:
                assert accelerator.run(PAIRS).single()[0] == RELATIONSHIPS
        assert cut.wait(10)
    assert_answers(own)


def test_a_server_lost_during_the_export_is_an_error_until_it_returns(own, proxy):
    with connect(own, proxy.uri):
        whole = proxy.received
    before = set(threading.enumerate())
    killed = proxy.after(whole // 3, own.kill)
    with pytest.raises(ERRORS):
        connect(own, proxy.uri)
    assert killed.wait(60)
    own.start()
    assert_answers(own)
    left = [t for t in threading.enumerate() if t not in before and t.name != "tcp-proxy"]
    assert not left


# ------------------------------------------------------------------ between and during queries
def test_a_restart_between_queries_is_survived(own):
    with nothing_left(), connect(own) as accelerator:
        assert accelerator.run(PAIRS).single()[0] == RELATIONSHIPS
        own.stop()
        for engine in ("auto", "gpu", "native"):
            with ends_in(), pytest.raises(ERRORS):
                accelerator.run(PAIRS, engine=engine)
        own.start()
        for engine in ("auto", "gpu", "native"):
            assert accelerator.run(PAIRS, engine=engine).single()[0] == RELATIONSHIPS


@pytest.mark.parametrize("end", ["cut", "kill"])
def test_a_server_lost_during_a_native_query_is_an_error(own, proxy, end):
    with connect(own, proxy.uri) as accelerator:
        failed = []

        def ask():
            try:
                accelerator.run(ENDLESS, engine="native")
            except ERRORS as error:
                failed.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: own.run(RUNNING))
        if end == "cut":
            proxy.cut()
        else:
            own.kill()
        asking.join(60)
        assert not asking.is_alive()
        assert failed
        if end == "kill":
            own.start()
        assert accelerator.run(PAIRS).single()[0] == RELATIONSHIPS


def until(true, seconds=30):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def test_a_slow_native_query_ends_at_its_time_limit(own):
    with nothing_left(own), connect(own) as accelerator:
        with ends_in(), pytest.raises(QueryTimeoutError):
            accelerator.run(ENDLESS, engine="native", timeout=1.5)
        assert accelerator.run(PAIRS).single()[0] == RELATIONSHIPS
        until(lambda: len(own.run("SHOW TRANSACTIONS")) == 1, 20)


def test_a_silent_server_is_an_error(own, proxy):
    """The query's timeout ends this, not the socket's."""
    with nothing_left(own), connect(own, proxy.uri) as accelerator:
        proxy.hold()
        with ends_in(), pytest.raises(ERRORS):
            accelerator.run(
                "MATCH (n:P) RETURN n.i ORDER BY n.i LIMIT 3", engine="native", timeout=2
            )
        proxy.release()
        assert accelerator.run(PAIRS).single()[0] == RELATIONSHIPS


def test_an_export_works_with_little_transaction_memory(new_server):
    small = new_server("little-memory", auth=AUTH, settings={"db.memory.transaction.max": "16m"})
    small.wipe()
    for _ in range(50):
        small.run("UNWIND range(1, 1000) AS i CREATE (:P {i: i})")
    small.run("CREATE (:Hub)")
    for start in range(0, 50_000, 1_000):
        small.run(
            "MATCH (h:Hub) UNWIND range($start, $start + 999) AS i MATCH (p:P) WHERE id(p) = i "
            "CREATE (h)-[:R]->(p)",
            start=start,
        )
    with nothing_left(small):
        accelerator, error = attempt(lambda: connect(small))
        if accelerator is None:
            assert "memory" in str(error).lower()
            return
        with accelerator:
            assert (
                accelerator.run("MATCH (h:Hub)-->(p:P) RETURN count(*)", engine="gpu").single()[0]
                == 50_000
            )
            with pytest.raises(neo4j.exceptions.Neo4jError, match=r"(?i)memory"):
                accelerator.run(COLLECTS, engine="native")
            assert accelerator.run("MATCH (n:P) RETURN count(*)").single()[0] == 50_000


# ------------------------------------------------------------------ a client that is killed
CLIENT = """
import sys, gpugda
print("began", flush=True)
with gpugda.connect(sys.argv[1], auth=(sys.argv[2], sys.argv[3])) as accelerator:
    print(accelerator.run(sys.argv[4]).single()[0], flush=True)
"""


@pytest.mark.parametrize("delay", [0.4, 0.8, 1.2, 2.0])
def test_a_killed_client_leaves_a_usable_or_discarded_cache(own, tmp_path, monkeypatch, delay):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", CLIENT, own.uri, *AUTH, PAIRS],
        stdout=subprocess.PIPE,
        env=os.environ,
    ) as client:
        client.stdout.readline()
        time.sleep(delay)
        client.send_signal(signal.SIGKILL)
    for _ in range(2):
        with connect(own, cache=True) as accelerator:
            assert accelerator.run(PAIRS, engine="gpu").single()[0] == RELATIONSHIPS
    until(lambda: len(own.run("SHOW TRANSACTIONS")) == 1, 20)
