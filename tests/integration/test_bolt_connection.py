"""The Bolt adapter's connection against a real Neo4j."""

import gc
import shutil
import signal
import socket
import ssl
import statistics
import subprocess
import threading
import warnings
from contextlib import closing, contextmanager, suppress
from time import monotonic, process_time, sleep
from urllib.parse import urlsplit

import neo4j
import pytest
from gpugda_adapters import bolt_connection, bolt_native
from gpugda_adapters.neo4j_bolt import BoltSource
from neo4j.exceptions import ClientError, CypherSyntaxError
from soon import ends_in

import gpugda
from gpugda.errors import ConfigurationError, QueryTimeoutError, SourceError

pytestmark = pytest.mark.neo4j

ENDLESS = (
    "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b WITH a, b WHERE a * b < 0 RETURN a"
)
EMPTY = {}


@pytest.fixture
def source(neo4j_uri, neo4j_auth):
    with closing(BoltSource(neo4j_uri, auth=neo4j_auth, environment=EMPTY)) as opened:
        yield opened


@pytest.fixture
def own(server):
    with closing(BoltSource(server.uri, auth=server.auth, environment=EMPTY)) as opened:
        yield opened


class Relay:
    """Forwards bytes to a server; can fall silent, switch to another server, or encrypt."""

    def __init__(self, uri, context=None):
        self.target = (urlsplit(uri).hostname, urlsplit(uri).port)
        self.context = context
        self.silent = threading.Event()
        self.open = []
        self.threads = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start(self.accept)

    def start(self, run, *args):
        self.threads.append(threading.Thread(target=run, args=args))
        self.threads[-1].start()

    def accept(self):
        with suppress(OSError):
            while True:
                self.start(self.welcome, self.listener.accept()[0])

    def welcome(self, near):
        self.open.append(near)
        with suppress(OSError):
            if self.context:
                near = self.context.wrap_socket(near, server_side=True)
                self.open.append(near)
            far = socket.create_connection(self.target)
            self.open.append(far)
            self.start(self.pass_on, near, far)
            self.start(self.pass_on, far, near)
            return
        near.close()

    def pass_on(self, source, target):
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.silent.is_set():
                    target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for each in self.open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.cut()
        for thread in self.threads:
            thread.join()
        for each in self.open:
            each.close()


@contextmanager
def relay_to(uri, context=None):
    with closing(Relay(uri, context)) as relay:
        yield relay


def test_facts_of_the_server_are_read(source):
    facts = source.facts
    assert facts.product == "Neo4j"
    assert int(facts.version.partition(".")[0]) >= 5
    assert facts.edition in ("community", "enterprise")
    assert facts.default_cypher in (5, 25)
    assert facts.has_bookmarks
    assert len(facts.database_id) == 36
    assert source.name == f"{facts.address}/{facts.database}"


def test_the_default_cypher_version_applies_without_a_prefix(source):
    try:
        source.run_native("LET one = 1 RETURN one", {})
    except CypherSyntaxError:
        assert source.facts.default_cypher == 5
    else:
        assert source.facts.default_cypher == 25


def test_a_routed_address_gives_the_same_facts(source, neo4j_auth):
    # The relay's own address, as a server in a container advertises another one.
    driver = neo4j.GraphDatabase.driver(
        source.facts.address.replace("bolt://", "neo4j://"), auth=neo4j_auth
    )
    with driver, closing(BoltSource(driver)) as other:
        assert other.facts.address.startswith("neo4j://")
        assert other.facts.database_id == source.facts.database_id
        assert not other.facts.clustered
        assert other.probe() == source.probe()


def test_a_given_driver_gives_the_same_facts_and_stays_open(source, neo4j_uri, neo4j_auth):
    with neo4j.GraphDatabase.driver(neo4j_uri, auth=neo4j_auth) as driver:
        with closing(BoltSource(driver)) as given:
            assert given.facts == source.facts
        assert driver.execute_query("RETURN 1").records[0][0] == 1


def test_a_probe_is_quick(source):
    seconds = []
    for _ in range(300):
        started = process_time()
        source.probe()
        seconds.append(process_time() - started)
    # Time of this process; including the server's share, the goal is 1.5 ms.
    assert statistics.median(seconds) < 0.005


def test_several_threads_can_probe(source):
    found = []
    threads = [threading.Thread(target=lambda: found.append(source.probe())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1


def test_a_probe_changes_only_with_commits(server, own):
    server.run("CREATE (:Seen {n: 0})")
    before = own.probe()
    assert own.probe() == before
    for _ in range(3):
        server.run("MATCH (n:Seen) SET n.n = n.n + 1")
        after = own.probe()
        assert after.database_id == before.database_id
        assert after.transaction == before.transaction + 1
        server.run("MATCH (n:Seen) RETURN n")
        assert own.probe() == after
        before = after


def test_native_version_is_that_of_its_own_commit(own):
    own.probe()  # records the server's process
    answer = own.run_native("CREATE (:Own) RETURN 1 AS one", {})
    assert answer.version == own.probe()
    assert answer.summary.counters.nodes_created == 1
    read = own.run_native("MATCH (n:Own) RETURN count(n) AS c", {}, read_only=True)
    assert read.version == answer.version


def test_native_queries_may_manage_transactions(own):
    own.probe()
    text = "UNWIND range(1, $n) AS i CALL (i) { CREATE (:Batch {i: i}) } IN TRANSACTIONS OF 10 ROWS"
    answer = own.run_native(text, {"n": 25})
    assert answer.summary.counters.nodes_created == 25
    assert answer.version == own.probe()


def test_native_values_and_keys_are_returned(source):
    text = "UNWIND $values AS value RETURN value, size($values) AS `the size`"
    answer = source.run_native(text, {"values": [1, "a", None, 2.5]})
    assert answer.keys == ("value", "the size")
    assert [tuple(record) for record in answer.records] == [(1, 4), ("a", 4), (None, 4), (2.5, 4)]


def test_native_keeps_notifications_and_plans(source):
    answer = source.run_native("EXPLAIN MATCH (n:NoSuchLabelAnywhere) RETURN id(n)", {})
    assert answer.summary.plan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a preview feature in the oldest driver
        codes = {status.gql_status for status in answer.summary.gql_status_objects}
    assert {"01N02", "01N50"} <= codes


def test_read_only_is_enforced(own):
    with pytest.raises(ClientError, match="read access mode"):
        own.run_native("CREATE (:Never)", {}, read_only=True)


def test_server_errors_are_raised_unchanged(source):
    with pytest.raises(CypherSyntaxError) as caught:
        source.run_native("RETUR 1", {})
    assert caught.value.code == "Neo.ClientError.Statement.SyntaxError"
    with pytest.raises(ClientError, match="/ by zero"):
        source.run_native("RETURN 1 / $zero", {"zero": 0}, timeout=30)
    assert source.run_native("RETURN 1 AS one", {}).records[0]["one"] == 1


def test_a_native_query_stops_at_its_time_limit(own):
    with ends_in(), pytest.raises(QueryTimeoutError, match=r"1 s in Neo4j"):
        own.run_native(ENDLESS, {}, timeout=1, read_only=True)
    assert running(own) == []


def running(source):
    """Transactions other than the one that runs this query."""
    text = "SHOW TRANSACTIONS YIELD currentQuery AS q WHERE NOT q STARTS WITH 'SHOW' RETURN q"
    deadline = monotonic() + 30
    while (found := source.run_native(text, {}).records) and monotonic() < deadline:
        sleep(0.1)
    return found


@pytest.mark.parametrize("text", [ENDLESS, ENDLESS.replace("< 0", ">= 0")])
def test_an_interrupted_query_stops_on_the_server(own, text):
    def interrupt(*_):
        raise KeyboardInterrupt

    # An interrupt that arrives during garbage collection may hit a finalizer, and is lost there.
    gc.collect()
    gc.disable()
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with ends_in(), pytest.raises(KeyboardInterrupt):
            own.run_native(text, {}, read_only=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert running(own) == []


def test_an_abandoned_generator_stops_its_query(own):
    def rows():
        with own._connection.session() as session:
            yield from session.run("UNWIND range(1, 100000000) AS i RETURN i")

    reading = rows()
    assert next(reading)["i"] == 1
    with ends_in():
        reading.close()
    assert running(own) == []


SILENT = r"did not answer|does not answer|not reached"


def test_a_silent_server_is_an_error(server, monkeypatch):
    monkeypatch.setattr(bolt_native, "_GRACE_SECONDS", 0.5)
    with relay_to(server.uri) as relay:
        uri = f"bolt://127.0.0.1:{relay.port}"
        with closing(BoltSource(uri, auth=server.auth, environment=EMPTY)) as own:
            own.probe()
            relay.silent.set()
            for _ in range(2):
                # First on the existing connection, then while opening a new one.
                with ends_in(), pytest.raises(SourceError, match=SILENT):
                    own.probe(timeout=0.5)
            with ends_in(), pytest.raises(QueryTimeoutError):
                own.run_native("RETURN 1", {}, timeout=0.5)
            # Only here: a busy machine takes longer to connect to a server that answers.
            with monkeypatch.context() as patch, ends_in():
                patch.setattr(bolt_connection, "_ACQUIRE_SECONDS", 1.0)
                with pytest.raises(SourceError, match=r"does not answer|not reached"):
                    BoltSource(uri, auth=server.auth, environment=EMPTY)
            relay.silent.clear()
            relay.cut()
            assert own.probe(timeout=30) is not None


def test_probes_survive_a_cut_connection(server):
    with relay_to(server.uri) as relay:
        uri = f"bolt://127.0.0.1:{relay.port}"
        with closing(BoltSource(uri, auth=server.auth, environment=EMPTY)) as own:
            for _ in range(3):
                before = own.probe()
                relay.cut()
                assert own.probe() == before


def test_a_restart_between_probes_changes_the_version(own_server):
    server = own_server
    server.start()
    server.wipe()
    with closing(BoltSource(server.uri, auth=server.auth, environment=EMPTY)) as own:
        own.run_native("CREATE (:Kept)", {})
        before = own.probe()
        # Several pooled connections, all of which break.
        threads = [threading.Thread(target=own.probe) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        server.stop()
        with pytest.raises(SourceError, match="bolt://127"):
            own.probe()
        server.start()
        after = own.probe()
        # A new process: the database may have been restored while the server was down.
        assert after.database_id != before.database_id
        assert after.database_id.partition("@")[0] == before.database_id.partition("@")[0]
        assert after.transaction >= before.transaction
        assert own.run_native("MATCH (n:Kept) RETURN count(n) AS c", {}).records[0]["c"] == 1


def test_wrong_passwords_and_replaced_databases_are_recognised(neo4j_2026, own_server):
    own_server.start()
    user, password = own_server.auth
    for auth in (("neo4j", "Wrong-Password"), None):
        with pytest.raises(SourceError, match="NEO4J_PASSWORD") as caught:
            BoltSource(own_server.uri, auth=auth, environment=EMPTY)
        assert "Wrong-Password" not in str(caught.value)
    variables = {"NEO4J_USERNAME": user, "NEO4J_PASSWORD": password}
    with relay_to(own_server.uri) as relay:
        uri = f"bolt://127.0.0.1:{relay.port}"
        with closing(BoltSource(uri, environment=variables)) as own:
            assert own.facts.user == "neo4j"
            assert own.facts.sees_everything
            assert password not in repr(own) + repr(own._connection) + str(own.facts)
            before = own.probe()
            assert own.run_native("RETURN 1", {}).version == before
            other = urlsplit(neo4j_2026.uri)
            relay.target = (other.hostname, other.port)
            relay.cut()
            after = own.probe()
            assert before.database_id.startswith(f"{own.facts.database_id}@")
            assert not after.database_id.startswith(own.facts.database_id)
            assert own.run_native("RETURN 1", {}).version == after


def test_impersonation_is_refused_by_community(source, neo4j_uri, neo4j_auth):
    if source.facts.edition != "community":
        pytest.skip("the server is no Community edition")
    with pytest.raises(SourceError, match=r"[Ii]mpersonat"):
        BoltSource(neo4j_uri, auth=neo4j_auth, impersonated_user="joe", environment=EMPTY)


def test_default_cypher_of_a_database(neo4j_2026):
    def found():
        options = {"auth": neo4j_2026.auth, "environment": EMPTY}
        with closing(BoltSource(neo4j_2026.uri, **options)) as source:
            answer = source.run_native(source._connection.prefix("RETURN 1 AS one"), {})
            assert answer.records[0]["one"] == 1
            assert source._connection.prefix("RETURN 1") == "CYPHER 5 RETURN 1"
            test_the_default_cypher_version_applies_without_a_prefix(source)
            return source.facts.default_cypher

    before = found()
    other = 30 - before
    neo4j_2026.run(f"ALTER DATABASE neo4j SET DEFAULT LANGUAGE CYPHER {other}")
    try:
        assert found() == other
    finally:
        neo4j_2026.run(f"ALTER DATABASE neo4j SET DEFAULT LANGUAGE CYPHER {before}")


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory):
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2"
    subprocess.run(
        [*command.split(), "-keyout", folder / "key", "-out", folder / "certificate"],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate", folder / "key")
    return context


def test_encrypted_connections_work(neo4j_uri, neo4j_auth, self_signed, monkeypatch):
    monkeypatch.setattr(bolt_connection, "_ACQUIRE_SECONDS", 2.0)
    options = {"auth": neo4j_auth, "environment": EMPTY}
    with relay_to(neo4j_uri, self_signed) as relay:
        rest = f"127.0.0.1:{relay.port}"
        with closing(BoltSource(f"bolt+ssc://{rest}", **options)) as source:
            assert source.facts.address == f"bolt+ssc://{rest}"
            assert source.probe() is not None
        with pytest.raises(SourceError, match="certificate is not trusted"):
            BoltSource(f"bolt+s://{rest}", **options)
        with pytest.raises(SourceError, match=r"scheme with \+s"):
            BoltSource(f"bolt://{rest}", **options)


def test_a_missing_database_is_an_error(neo4j_uri, neo4j_auth):
    for address in (neo4j_uri, neo4j_uri.replace("bolt://", "neo4j://")):
        with pytest.raises(SourceError, match="no such database"):
            BoltSource(address, auth=neo4j_auth, database="nosuchdatabase", environment=EMPTY)


@pytest.mark.parametrize("name", ["system", "SYSTEM"])
def test_the_system_database_answers_itself(neo4j_uri, neo4j_auth, caplog, name):
    with gpugda.connect(neo4j_uri, auth=neo4j_auth, database=name) as accelerator:
        found = accelerator.run("SHOW DATABASES YIELD name")
        assert "system" in found.value()
        assert found.summary.engine == "native"
        with pytest.raises(ConfigurationError, match="the system database holds no graph; use"):
            accelerator.run("MATCH (n) RETURN n", engine="gpu")
    assert caplog.records == []


def test_encryption_without_server_support_is_an_error(neo4j_uri):
    for scheme in ("bolt+s://", "bolt+ssc://", "neo4j+ssc://"):
        with pytest.raises(SourceError, match=r"without \+s or \+ssc"):
            BoltSource(neo4j_uri.replace("bolt://", scheme), environment=EMPTY)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_closed_port_is_an_error(scheme):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SourceError, match="Nothing listens there"):
            BoltSource(f"{scheme}://127.0.0.1:{taken.getsockname()[1]}", environment=EMPTY)


@pytest.mark.parametrize("scheme", ["bolt", "bolt+s", "neo4j"])
def test_a_silent_port_is_an_error(scheme, monkeypatch):
    monkeypatch.setattr(bolt_connection, "_ACQUIRE_SECONDS", 1.0)
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        with ends_in(), pytest.raises(SourceError, match=r"does not answer|not reached"):
            BoltSource(f"{scheme}://127.0.0.1:{mute.getsockname()[1]}", environment=EMPTY)


def test_an_unknown_host_is_an_error():
    with pytest.raises(SourceError, match="cannot be resolved"):
        BoltSource("bolt://no-such-host.invalid", environment=EMPTY)


def test_closing_leaves_no_connections_or_threads(neo4j_uri, neo4j_auth):
    before = set(threading.enumerate())
    for _ in range(3):
        with closing(BoltSource(neo4j_uri, auth=neo4j_auth, environment=EMPTY)) as source:
            source.probe(timeout=5)
            source.run_native("RETURN 1", {}, timeout=5)
            pool = source._connection.driver._pool
        assert not pool.connections
        assert source._connection.driver._closed
    assert set(threading.enumerate()) == before


# ------------------------------------------------------------------ sent first, received later
def test_a_probe_can_be_pipelined(own, monkeypatch):
    known = own.probe()
    asked = []
    monkeypatch.setattr(own._connection, "probe", lambda timeout=None: asked.append(timeout))
    with own.asking() as answer:
        assert answer() == known
    assert not asked  # the driver supports it: nothing was requested a second time
    own.run_native("CREATE (:Asked)", {})
    with own.asking() as answer:
        newer = answer()
    assert newer.database_id == known.database_id
    assert newer.transaction > known.transaction
    with own.asking():
        pass  # an abandoned answer leaves the connection usable
    with own.asking() as answer:
        assert answer() == newer
    assert not asked


def test_a_connection_broken_while_idle_is_replaced(own):
    known = own.probe()
    with own.asking() as answer:
        for connection in own._connection.driver._pool.connections.copy().values():
            for each in connection:
                each.socket._socket.shutdown(socket.SHUT_RDWR)
        assert answer() == known
    with own.asking() as answer:
        assert answer() == known
