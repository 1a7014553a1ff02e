from types import SimpleNamespace

import neo4j
import pytest
from gpugda_adapters import bolt_connection, neo4j_bolt
from gpugda_adapters.bolt_connection import BoltConnection
from gpugda_adapters.bolt_epoch import START_TIME
from gpugda_adapters.neo4j_bolt import BoltSource
from neo4j.exceptions import ClientError, Neo4jError, ServiceUnavailable

from gpugda.errors import ConfigurationError, QueryTimeoutError, SourceError
from gpugda.ports import DatabaseServer, DatabaseVersion

BOOKMARK = "FB:kcwQz4exibD+QJiDXZJJPZvn9wOQ"
OTHER = "FB:kcwQZRa9gK9gTiuXD3ZXT3XA2MkBl5A="
SUMMARY = SimpleNamespace(
    server=SimpleNamespace(
        agent="Neo4j/5.26.0", address=("127.0.0.1", 7687), protocol_version=(5, 8)
    ),
    database="films",
)
ROWS = {
    "CALL dbms.components": [
        {"name": "Neo4j Kernel", "versions": ["5.26.0"], "edition": "community"}
    ],
    "SHOW DATABASES": [{"name": "films"}],
    "SHOW CURRENT USER": [],
    "CALL db.labels": [{"name": "Person"}, {"name": "City"}],
    "CALL db.relationshipTypes": [{"name": "KNOWS"}],
}


def server_error(name, kind="ClientError.Statement"):
    return Neo4jError._hydrate_neo4j(code=f"Neo.{kind}.{name}", message="said")


class Result(list):
    """The rows of a fake answer."""

    def keys(self):
        return ["x"]

    def fetch(self, number):
        taken, self[:] = self[:number], self[number:]
        return taken

    def consume(self):
        return SUMMARY


class Session:
    def __init__(self, driver, config):
        self.driver = driver
        self.config = config
        self.cancelled = False
        self._connection = driver.connection

    def run(self, text, parameters=None):
        self.driver.ran.append((text, parameters, self.config))
        if text == START_TIME:
            return SimpleNamespace(single=lambda: {"started": self.driver.started})
        if self.driver.errors:
            raise self.driver.errors.pop(0)
        if isinstance(text, neo4j.Query):
            return Result(self.driver.records)
        for start, rows in ROWS.items():
            if text.startswith(start):
                return [SimpleNamespace(data=lambda row=row: row) for row in rows]
        if text.startswith("RETURN 1"):
            return Result()
        raise server_error("SyntaxError")

    def last_bookmarks(self):
        return neo4j.Bookmarks.from_raw_values([self.driver.bookmark])

    def close(self):
        self.driver.open_sessions -= 1

    def _handle_cancellation(self):
        self.cancelled = True


class Connection:
    """A connection of the fake driver."""


class Driver(neo4j.Driver):
    """A fake driver that counts its open sessions."""

    encrypted = False

    def __init__(self):
        self.bookmark = BOOKMARK
        self.started = 100
        self.connection = Connection()
        self.errors = []
        self.records = []
        self.ran = []
        self.open_sessions = 0
        self.closed = False

    def __del__(self):
        pass

    def session(self, **config):
        self.open_sessions += 1
        self.last = Session(self, config)
        return self.last

    def close(self):
        self.closed = True


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    monkeypatch.setattr(neo4j_bolt, "open_driver", lambda address, auth: made)
    return made


@pytest.fixture
def source(driver):
    source = BoltSource("bolt://localhost", environment={})
    driver.ran.clear()
    yield source
    source.close()
    assert driver.open_sessions == 0


def test_a_bolt_source_is_a_database_server(source):
    assert isinstance(source, DatabaseServer)
    assert source.name == "bolt://localhost:7687/films"
    assert source.facts.database == "films"
    assert "films" in repr(source)


def test_sessions_name_the_home_database_once_it_is_known(source, driver):
    source.probe()
    assert driver.ran[-1][2]["database"] == "films"
    assert driver.ran[-1][2]["default_access_mode"] == "READ"
    assert driver.ran[-1][2]["bookmarks"] is None
    assert driver.ran[-1][2]["notifications_min_severity"] == "OFF"


def test_only_a_driver_made_by_the_source_is_closed(driver):
    BoltSource("bolt://localhost", environment={}).close()
    assert driver.closed
    given = Driver()
    source = BoltSource(given)
    assert source.facts.address == "bolt://127.0.0.1:7687"
    source.close()
    source.close()
    assert not given.closed
    assert given.open_sessions == 0


def test_closing_ends_while_a_cancelled_query_still_sends(driver, monkeypatch):
    """The driver then raises once, after it has let go of its connections."""
    usual = driver.close

    def close():
        monkeypatch.setattr(driver, "close", usual)
        raise BufferError("Existing exports of data: object cannot be re-sized")

    source = BoltSource("bolt://localhost", environment={})
    monkeypatch.setattr(driver, "close", close)
    source.close()
    assert driver.closed


def test_nothing_stays_open_when_connecting_fails(driver):
    driver.errors = [ServiceUnavailable("Connection refused")]
    with pytest.raises(SourceError, match="Nothing listens") as caught:
        BoltSource("bolt://localhost", environment={})
    assert isinstance(caught.value.__cause__, ServiceUnavailable)
    assert driver.closed
    assert driver.open_sessions == 0


@pytest.mark.parametrize(
    "wrong",
    [{"sessions": 0}, {"sessions": True}, {"database": ""}, {"impersonated_user": ""}],
)
def test_nothing_stays_open_when_an_argument_is_wrong(driver, wrong):
    with pytest.raises(ConfigurationError, match=next(iter(wrong))):
        BoltSource("bolt://localhost", environment={}, **wrong)
    assert driver.closed


@pytest.mark.parametrize("wrong", ["A", [5], [""]])
def test_labels_of_a_projection_are_checked(driver, wrong):
    with pytest.raises(ConfigurationError, match="labels is"):
        BoltSource("bolt://localhost", environment={}, labels=wrong)
    source = BoltSource("bolt://localhost", environment={}, labels=["A", "B", "A"], types=())
    assert source.projection.labels == ("A", "B")
    assert source.projection.types == ()
    source.close()


def test_unknown_names_of_a_projection_are_warned_of(driver, caplog):
    part = {"labels": ["Person", "person", "Dog"], "types": ["KNOW"]}
    BoltSource("bolt://localhost", environment={}, **part).close()
    assert [record.getMessage() for record in caplog.records] == [
        "labels=…: the database has no label 'person'; did you mean 'Person'?",
        "labels=…: the database has no label 'Dog'",
        "types=…: the database has no type 'KNOW'; did you mean 'KNOWS'?",
    ]
    assert driver.open_sessions == 0


def test_a_server_that_cannot_list_its_names_is_accepted(driver, caplog, monkeypatch):
    monkeypatch.delitem(ROWS, "CALL db.labels")
    BoltSource("bolt://localhost", environment={}, labels=["Dog"]).close()
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def test_the_environment_applies_to_addresses_only(driver, monkeypatch):
    seen = []
    monkeypatch.setattr(
        neo4j_bolt, "open_driver", lambda address, auth: seen.append(auth) or driver
    )
    variables = {"NEO4J_USERNAME": "a", "NEO4J_PASSWORD": "b", "NEO4J_DATABASE": "books"}
    BoltSource("bolt://localhost", environment=variables).close()
    assert seen == [neo4j.basic_auth("a", "b")]
    assert driver.ran[0][2]["database"] == "books"
    given = Driver()
    BoltSource(given, environment=variables).close()
    assert given.ran[0][2]["database"] is None


def test_wrong_sources_and_options_are_refused():
    with pytest.raises(ConfigurationError, match="neither an address nor"):
        BoltSource(5)
    with pytest.raises(ConfigurationError, match="auth goes with an address"):
        BoltSource(Driver(), auth=("a", "b"))


def test_a_probe_gives_the_newest_transaction(source, driver):
    expected = DatabaseVersion("cf87b189-b0fe-4098-835d-92493d9be7f7@100", 3)
    assert source.probe() == expected
    driver.ran.clear()
    assert source.probe() == expected
    assert len(driver.ran) == 1
    assert source.run_native("RETURN 1", {}).version == expected


def test_a_restarted_server_has_another_version(source, driver):
    before = source.probe()
    driver.started, driver.connection = 200, Connection()
    after = source.probe()
    assert after.transaction == before.transaction
    assert after != before


def test_a_probe_is_repeated_once_on_a_broken_connection(source, driver):
    driver.errors = [ServiceUnavailable("gone")]
    assert source.probe().transaction == 3
    driver.errors = [ServiceUnavailable("gone"), ServiceUnavailable("Connection refused")]
    with pytest.raises(SourceError, match="Nothing listens"):
        source.probe()


def test_a_refused_probe_is_not_repeated(source, driver):
    driver.errors = [server_error("DatabaseNotFound", "ClientError.Database")]
    with pytest.raises(SourceError, match="SHOW DATABASES"):
        source.probe()
    assert len(driver.ran) == 1


def test_another_database_of_the_same_name_is_recognised(source, driver):
    driver.bookmark = OTHER
    assert source.run_native("RETURN 1", {}).version is None
    assert source.probe().database_id != source.facts.database_id
    assert source.run_native("RETURN 1", {}).version.transaction == 407


def test_a_server_without_bookmarks_is_not_probed(driver):
    driver.bookmark = "neo4j:bookmark:v1:tx42"
    source = BoltSource("bolt://localhost", environment={})
    driver.ran.clear()
    assert not source.facts.has_bookmarks
    assert source.probe() is None
    assert not driver.ran
    source.close()


def test_a_cluster_is_probed_at_its_leader(driver, monkeypatch):
    monkeypatch.setitem(ROWS, "SHOW DATABASES", [{"name": "films", "currentPrimariesCount": 3}])
    monkeypatch.setitem(
        ROWS,
        "CALL dbms.components",
        [{"name": "Neo4j Kernel", "versions": ["5.26.0"], "edition": "enterprise"}],
    )
    source = BoltSource("neo4j://localhost", environment={})
    source.probe()
    assert driver.ran[-1][2]["default_access_mode"] == "WRITE"
    source.close()


def test_privileges_are_read_again_after_some_time(driver, monkeypatch):
    monkeypatch.setitem(
        ROWS,
        "CALL dbms.components",
        [{"name": "Neo4j Kernel", "versions": ["5.26.0"], "edition": "enterprise"}],
    )
    source = BoltSource("bolt://localhost", environment={})
    assert source.facts.sees_everything
    monkeypatch.setitem(ROWS, "SHOW CURRENT USER", [{"user": "ann"}])
    source.probe()
    assert source.facts.sees_everything
    monkeypatch.setattr(bolt_connection, "_FACTS_LAST_SECONDS", -1.0)
    source.probe()
    assert not source.facts.sees_everything
    source.close()


def test_a_native_query_is_sent_unchanged(source, driver):
    source.probe()
    driver.records = [1, 2]
    answer = source.run_native("RETURN $text AS x", {"text": "a", "query": 1}, timeout=2)
    query, parameters, config = driver.ran[-1]
    assert (query.text, query.timeout) == ("RETURN $text AS x", 2)
    assert parameters == {"text": "a", "query": 1}
    assert config["default_access_mode"] == "WRITE"
    assert "notifications_min_severity" not in config
    assert config["fetch_size"] > 0  # not all rows at once: that can exhaust the server
    assert (answer.keys, answer.records, answer.summary) == (("x",), [1, 2], SUMMARY)
    assert answer.version.transaction == 3


def test_a_native_query_may_be_read_only(source, driver):
    source.run_native("RETURN 1", {}, read_only=True)
    assert driver.ran[-1][2]["default_access_mode"] == "READ"


def test_a_native_query_reports_progress(source, driver):
    class Told:
        rows = 0

        def phase(self, name, total=None):
            assert total is None

        def advance(self, amount):
            self.rows += amount

    driver.records = list(range(25_000))
    told = Told()
    assert source.run_native("RETURN 1", {}, progress=told).records == list(range(25_000))
    assert told.rows == 25_000


def test_errors_of_a_native_query_are_raised_unchanged(source, driver):
    error = server_error("SyntaxError")
    driver.errors = [error]
    with pytest.raises(ClientError) as caught:
        source.run_native("RETUR 1", {}, timeout=5)
    assert caught.value is error


def test_only_our_own_time_limit_becomes_a_query_timeout(source, driver, monkeypatch):
    name, kind = "TransactionTimedOut", "ClientError.Transaction"
    driver.errors = [server_error(name, kind)]
    with pytest.raises(QueryTimeoutError, match="longer than its 1e-06 s"):
        source.run_native("RETURN 1", {}, timeout=1e-6)
    # The server's own, shorter limit is not ours.
    driver.errors = [server_error(name, kind), server_error(name, kind)]
    for timeout in (60, None):
        with pytest.raises(ClientError):
            source.run_native("RETURN 1", {}, timeout=timeout)


def test_an_interrupted_native_query_is_cancelled(source, driver):
    driver.errors = [KeyboardInterrupt()]
    with pytest.raises(KeyboardInterrupt):
        source.run_native("RETURN 1", {})
    assert driver.last.cancelled


def test_a_connection_configures_its_sessions():
    driver = Driver()
    connection = BoltConnection(driver, None, impersonated_user="joe")
    assert connection.facts.impersonated_user == "joe"
    version = DatabaseVersion("x", 1, "mark")
    with connection.session(bookmarks=version, bulk=True, impersonate=False) as session:
        assert session.config["bookmarks"].raw_values == {"mark"}
        assert session.config["fetch_size"] == -1
        assert session.config["impersonated_user"] is None
    with connection.session(bookmarks=["a", "b"]) as session:
        assert session.config["bookmarks"].raw_values == {"a", "b"}
        assert session.config["impersonated_user"] == "joe"
    assert connection.prefix("RETURN 1") == "RETURN 1"
    assert "films" in repr(connection)
    connection.close()
    assert driver.open_sessions == 0


def test_a_probe_that_cannot_be_pipelined_is_sent_on_demand(source, driver):
    known = source.probe()
    ran = len(driver.ran)
    with source.asking() as answer:
        assert len(driver.ran) == ran
        assert answer() == known
    assert len(driver.ran) == ran + 1
