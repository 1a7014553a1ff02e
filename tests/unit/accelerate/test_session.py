from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import neo4j
import pytest
from fake_driver import READ, WRITE, FakeManager, FakeSession, FakeTransaction
from neo4j.exceptions import ResultConsumedError, SessionError, TransactionError

from gpugda.errors import QueryTimeoutError


@pytest.fixture
def session(setup):
    with setup.accelerated.session() as made:
        yield made


@pytest.mark.parametrize("kind", [FakeSession, FakeTransaction])
def test_the_driver_gets_query_and_parameters_by_name(setup, session, monkeypatch, kind):
    original = kind.run

    def run(self, *, query, parameters, **more):  # as mocks of applications take them
        return original(self, query, parameters, **more)

    monkeypatch.setattr(kind, "run", run)
    setup.device.declines = "no"
    if kind is FakeSession:
        assert list(session.run(READ, {"a": 1})) == [{"n": "server"}]
    else:
        session.execute_read(lambda tx: tx.run(READ, {"a": 1}).consume())


# ------------------------------------------------------------------ auto-commit
def test_a_read_runs_on_the_device(setup, session):
    assert session.run(READ, {"a": 1}, b=2).value() == [1, 2]
    assert setup.device.calls == [(READ, {"a": 1, "b": 2}, None)]
    assert setup.asked_server == []


def test_a_read_after_a_write_sees_the_committed_write(setup, session):
    session.run(WRITE)  # its result is not read: the driver consumes it before the next statement
    assert session.run(READ).value() == [1, 2]
    assert setup.asked_server == [WRITE]
    assert setup.driver.transactions == 1, "the write must be committed before the device is asked"


def test_a_statement_before_an_unread_result_goes_to_the_driver(setup, session):
    setup.device.declines = "no"
    first = session.run(READ)
    setup.device.declines = None
    session.run(READ)
    assert setup.asked_server == [READ, READ]
    assert first.rows, "the driver must buffer the rows"


def test_the_device_is_asked_again_after_a_failed_result(setup, session):
    setup.device.declines = "no"
    session.run(READ).failed = ValueError("broken")
    setup.device.declines = None
    assert session.run(READ).value() == [1, 2]


def test_statements_on_the_server_are_reported_to_the_planner(setup, session):
    setup.device.declines = "no"
    session.run(READ).consume()
    session.execute_read(lambda tx: tx.run(READ).consume())
    assert setup.device.native == [(READ, None), (READ, None)]  # no time: rows stream
    session.execute_read(lambda tx: (tx.run(READ).consume(), tx.run(WRITE).consume()))
    assert len(setup.device.native) == 3  # WRITE was not offered to the device
    setup.device.observe_native = None  # calling it raises an error, which must not reach the user
    assert list(session.run(READ)) == [{"n": "server"}]


def test_the_driver_gets_zones_that_it_survives(setup, session):
    berlin = datetime.datetime(2020, 7, 1, tzinfo=ZoneInfo("Europe/Berlin"))
    setup.device.declines = "no"
    session.run(READ, {"at": [berlin]}, then=berlin).consume()
    session.execute_read(lambda tx: tx.run(READ, at=berlin).consume())
    setup.accelerated.execute_query(READ, {"at": berlin}, then=berlin)
    sent = [call[2] for call in setup.driver.calls if call[1:2] == (READ,)]
    values = [value for each in sent for value in each.values()]
    assert len(values) == 5
    for value in values:
        (value,) = value if isinstance(value, list) else (value,)
        assert value.iso_format() == "2020-07-01T00:00:00.000000000+02:00"
        assert value.tzinfo.zone == "Europe/Berlin"


def test_each_database_has_its_own_device(setup):
    assert setup.gate.wait("people", 30)
    with setup.accelerated.session(database="people") as session:
        session.run(READ)
    assert len(setup.devices["people"].calls) == 1
    assert setup.device.calls == []


def test_unknown_bookmarks_go_to_the_server_first(setup):
    given = neo4j.Bookmarks.from_raw_values(["elsewhere"])
    with setup.accelerated.session(bookmarks=given) as session:
        list(session.run(READ))
        assert setup.asked_server == [READ]
        assert session.run(READ).value() == [1, 2]
    assert "bookmarks that this driver did not receive go to the server first" in setup.reasons


def test_bookmarks_of_this_driver_allow_the_device(setup):
    with setup.accelerated.session() as writer:
        writer.run(WRITE).consume()
        bookmarks = writer.last_bookmarks()
    assert bookmarks.raw_values == {"b1"}
    with setup.accelerated.session(bookmarks=bookmarks) as reader:
        assert reader.run(READ).value() == [1, 2]


def test_unknown_bookmarks_of_a_manager_go_to_the_server_first(setup):
    manager = FakeManager(["elsewhere"])
    with setup.accelerated.session(bookmark_manager=manager) as session:
        list(session.run(READ))
        assert setup.asked_server == [READ]
        manager.bookmarks = list(session.last_bookmarks().raw_values)
        assert session.run(READ).value() == [1, 2]


def test_a_lenient_snapshot_must_cover_the_bookmarks(lenient):
    with lenient.accelerated.session() as session:
        assert session.run(READ).value() == [1, 2]
        session.run(WRITE).consume()
        assert list(session.run(READ)) == [{"n": "server"}]
        lenient.device.covered = {"b2"}
        assert session.run(READ).value() == [1, 2]


def test_time_limits_reach_the_device_and_then_the_server(setup, session):
    session.run(neo4j.Query(READ, timeout=3))
    assert 2 < setup.device.calls[0][2] <= 3
    setup.device.error = QueryTimeoutError("too long")
    session.run(neo4j.Query(READ, timeout=3))
    assert 0 < setup.asked_server[0].timeout <= 3
    session.run(neo4j.Query(READ, metadata={"app": "x"}, timeout=3)).consume()
    assert len(setup.device.calls) == 2
    assert setup.asked_server[1].metadata == {"app": "x"}


def test_a_closed_session_refuses_statements(setup):
    session = setup.accelerated.session()
    session.close()
    with pytest.raises(SessionError, match="Session closed"):
        session.run(READ)
    with pytest.raises(SessionError, match="Session closed"):
        session.execute_read(lambda tx: tx.run(READ))
    assert setup.device.calls == []


def test_results_after_the_session_act_as_the_drivers(setup):
    with setup.accelerated.session() as session:
        buffered, read, unread = session.run(READ), None, None
        read = session.run(READ)
        read.values()
        unread = session.run(READ)
    assert buffered.value() == [1, 2], "a later statement must make the driver buffer the rows"
    assert read.value() == []
    with pytest.raises(ResultConsumedError):
        unread.value()


def test_the_accelerated_session_is_an_instance_of_the_session(setup, session):
    assert isinstance(session, FakeSession)
    assert session.closed() is False


# ------------------------------------------------------------------ explicit transactions
def test_read_transactions_run_on_the_device(setup):
    with (
        setup.accelerated.session(default_access_mode="READ") as session,
        session.begin_transaction() as transaction,
    ):
        assert isinstance(transaction, FakeTransaction)
        assert transaction.run(READ, x=1).value() == [1, 2]
        left = transaction.run(READ)
        with pytest.raises(TransactionError, match="already open"):
            session.run(READ)
    assert setup.driver.calls == [("begin", None, None), ("commit",)]
    with pytest.raises(ResultConsumedError):
        left.values()
    with pytest.raises(TransactionError, match="Transaction closed"):
        transaction.run(READ)


def test_a_transaction_stays_on_the_server_once_it_was_there(setup):
    with setup.accelerated.session(default_access_mode=neo4j.READ_ACCESS) as session:
        transaction = session.begin_transaction()
        transaction.run(READ)
        transaction.run("CALL db.labels()")
        transaction.run(READ)
        transaction.rollback()
    assert setup.asked_server == ["CALL db.labels()", READ]
    assert len(setup.device.calls) == 2


def test_transactions_that_may_write_run_on_the_server(setup, session):
    with session.begin_transaction() as transaction:
        transaction.run(READ)
        transaction.run(WRITE)
        transaction.run(READ)
    session.execute_write(lambda tx: tx.run(READ))
    assert setup.device.calls == []
    assert setup.asked_server == [READ, WRITE, READ, READ]


def test_transactions_with_metadata_run_on_the_server(setup):
    with setup.accelerated.session(default_access_mode="READ") as session:
        with session.begin_transaction(metadata={"app": "x"}) as transaction:
            transaction.run(READ)
        assert setup.driver.calls[0] == ("begin", {"app": "x"}, None)

        @neo4j.unit_of_work(metadata={"app": "x"}, timeout=4)
        def work(tx):
            return list(tx.run(READ))

        session.execute_read(work)
    assert setup.device.calls == []
    assert ("execute_read", {"app": "x"}, 4) in setup.driver.calls


def test_a_transactions_time_limit_covers_all_statements(setup):
    with setup.accelerated.session(default_access_mode="READ") as session:
        with session.begin_transaction(timeout=10) as transaction:
            transaction.run(READ)
            transaction.run(READ)
        assert setup.driver.calls[0] == ("begin", None, 10)
    first, second = (call[2] for call in setup.device.calls)
    assert 9 < second <= first <= 10


def test_bookmarks_of_a_begun_transaction_allow_the_device(setup):
    given = neo4j.Bookmarks.from_raw_values(["elsewhere"])
    with (
        setup.accelerated.session(bookmarks=given, default_access_mode="READ") as session,
        session.begin_transaction() as transaction,
    ):
        assert transaction.run(READ).value() == [1, 2]


# ------------------------------------------------------------------ transaction functions
def test_read_transaction_functions_run_on_the_device(setup, session):
    def work(tx, text, *, twice):
        assert twice
        return [record["n"] for record in tx.run(text)]

    assert session.execute_read(work, READ, twice=True) == [1, 2]
    assert setup.driver.calls == [("execute_read", None, None), ("commit",)]
    assert session.run(READ).value() == [1, 2]


def test_a_transaction_functions_time_limit_reaches_the_device(setup, session):
    session.execute_read(neo4j.unit_of_work(timeout=6)(lambda tx: tx.run(READ).value()))
    assert setup.driver.calls[0] == ("execute_read", None, 6)
    assert 5 < setup.device.calls[0][2] <= 6


def test_transaction_and_results_end_with_the_transaction_function(setup, session):
    kept = []

    def work(tx):
        kept.extend([tx, tx.run(READ)])

    session.execute_read(work)
    with pytest.raises(TransactionError, match="Transaction closed"):
        kept[0].run(READ)
    with pytest.raises(ResultConsumedError):
        kept[1].values()


def test_an_error_in_a_transaction_function_rolls_back(setup, session):
    def work(tx):
        tx.run(READ)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        session.execute_read(work)
    assert setup.driver.calls[-1] == ("rollback",)


def test_the_driver_refuses_a_transaction_function_that_is_no_function(setup, session):
    with pytest.raises(TypeError, match="not callable"):
        session.execute_read("MATCH")


def test_auto_commit_within_a_transaction_function_goes_to_the_driver(setup, session):
    def work(tx):
        session.run(READ)

    session.execute_read(work)
    assert setup.device.calls == []
    assert setup.asked_server == [READ]


def test_read_transaction_of_driver_version_5_runs_on_the_device(setup, session):
    FakeSession.read_transaction = FakeSession.execute_read
    try:
        assert session.read_transaction(lambda tx: tx.run(READ).value()) == [1, 2]
    finally:
        del FakeSession.read_transaction
    assert not hasattr(session, "read_transaction")
