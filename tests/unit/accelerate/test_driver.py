from __future__ import annotations

import functools

import neo4j
import pytest
from fake_driver import READ, WRITE, FakeDriver, FakeManager
from soon import GENEROUS_SECONDS

from gpugda.errors import QueryTimeoutError


def test_a_read_runs_on_the_device(setup):
    records, summary, keys = setup.accelerated.execute_query(READ, x=1, parameters_={"y": 2})
    assert [record["n"] for record in records] == [1, 2]
    assert summary.engine == "gpu"
    assert keys == ["n"]
    assert setup.device.calls == [(READ, {"x": 1, "y": 2}, None)]
    assert setup.driver.calls == []
    assert setup.gate.tally.accelerated == 1


def test_a_write_goes_to_the_driver_once_and_unchanged(setup):
    assert setup.accelerated.execute_query(WRITE, {"a": 1}, b=2) == "server"
    assert setup.driver.calls == [("execute_query", WRITE, {"a": 1, "b": 2})]
    assert setup.reasons == ["not answered by the device: CREATE writes"]


def test_each_database_has_its_own_device(setup):
    assert setup.gate.wait("people", 30)
    setup.accelerated.execute_query(READ, database_="People")
    assert len(setup.devices["people"].calls) == 1
    assert setup.device.calls == []


def test_the_home_database_and_its_name_share_a_device(setup):
    setup.accelerated.execute_query(READ)
    setup.accelerated.execute_query(READ, database_="neo4j")
    assert len(setup.device.calls) == 2
    assert list(setup.devices) == ["neo4j"]


def test_the_system_database_is_not_accelerated(setup):
    assert setup.accelerated.execute_query(READ, database_="system") == "server"
    assert "system" not in setup.devices


@pytest.mark.parametrize(
    "options",
    [
        {"impersonated_user_": "ann"},
        {"auth_": ("ann", "pw")},
        {"routing_": "x"},
        {"database_": 1},
        {"wrong_": 1},
    ],
)
def test_unusual_options_go_to_the_driver(setup, options):
    assert setup.accelerated.execute_query(READ, **options) == "server"
    assert setup.device.calls == []


@pytest.mark.parametrize("query", ["", "  ", 7, None, neo4j.Query(READ, metadata={"app": "x"})])
def test_texts_that_are_no_plain_query_go_to_the_driver(setup, query):
    assert setup.accelerated.execute_query(query) == "server"
    assert setup.driver.calls[0][1] is query
    assert setup.device.calls == []


def test_the_device_receives_the_time_limit(setup):
    setup.accelerated.execute_query(neo4j.Query(READ, timeout=5))
    assert 4 < setup.device.calls[0][2] <= 5
    setup.accelerated.execute_query(query_=neo4j.Query(READ, timeout=0))
    assert setup.device.calls[1][2] is None


def test_a_device_timeout_is_repeated_on_the_server(setup):
    setup.device.error = QueryTimeoutError("too long")
    assert setup.accelerated.execute_query(neo4j.Query(READ, timeout=1)) == "server"
    query = setup.driver.calls[0][1]
    assert query.text == READ
    assert 0 < query.timeout <= 1


def test_a_device_failure_falls_back_to_the_server(setup):
    setup.device.error = RuntimeError("out of order")
    assert setup.accelerated.execute_query(READ) == "server"
    assert setup.reasons == ["the device failed: RuntimeError"]


@pytest.mark.parametrize(
    ("transformer", "expected"),
    [
        (neo4j.Result.values, [[1], [2]]),
        (neo4j.Result.data, [{"n": 1}, {"n": 2}]),
        (functools.partial(neo4j.Result.value, key="n"), [1, 2]),
        (lambda result: result.fetch(1)[0]["n"], 1),
        (neo4j.Result.keys, ["n"]),
    ],
)
def test_result_transformers_of_the_driver_work(setup, transformer, expected):
    assert setup.accelerated.execute_query(READ, result_transformer_=transformer) == expected
    assert setup.driver.calls == []


def test_a_result_cannot_be_read_after_its_transaction(setup):
    result = setup.accelerated.execute_query(READ, result_transformer_=lambda result: result)
    with pytest.raises(neo4j.exceptions.ResultConsumedError):
        list(result)


def test_bookmarks_of_the_drivers_own_manager_allow_the_device(setup):
    setup.driver.execute_query_bookmark_manager.bookmarks = ["b7"]
    setup.accelerated.execute_query(READ)
    assert len(setup.device.calls) == 1


def test_new_bookmarks_of_another_manager_go_to_the_server_first(setup):
    manager = FakeManager(["elsewhere"])
    setup.driver.after_execute = lambda: manager.bookmarks.append("b8")
    assert setup.accelerated.execute_query(READ, bookmark_manager_=manager) == "server"
    setup.accelerated.execute_query(READ, bookmark_manager_=manager)
    assert len(setup.device.calls) == 1


def test_without_a_manager_there_are_no_bookmarks(lenient):
    lenient.driver.execute_query_bookmark_manager.bookmarks = ["b7"]
    lenient.accelerated.execute_query(READ, bookmark_manager_=None)
    assert len(lenient.device.calls) == 1


def test_server_times_are_reported_to_the_planner(setup):
    setup.device.declines = "no"
    assert setup.accelerated.execute_query(READ) == "server"
    ((text, seconds),) = setup.device.native
    assert text == READ
    assert 0 < seconds < GENEROUS_SECONDS
    setup.device.declines = None
    setup.accelerated.execute_query(READ)
    assert len(setup.device.native) == 1


def test_a_lenient_snapshot_must_cover_the_bookmarks(lenient):
    lenient.driver.execute_query_bookmark_manager.bookmarks = ["b7"]
    assert lenient.accelerated.execute_query(READ) == "server"
    assert lenient.reasons == ["the snapshot may be older than the bookmarks"]
    lenient.device.covered = {"b7"}
    assert lenient.accelerated.execute_query(READ) != "server"


def test_the_accelerated_driver_is_an_instance_of_the_driver(setup):
    assert isinstance(setup.accelerated, FakeDriver)
    assert setup.accelerated.verify_connectivity() == "connected"
    assert setup.accelerated.encrypted is False
    assert "0 accelerated" in repr(setup.accelerated)
    with pytest.raises(AttributeError):
        _ = setup.accelerated.nothing_like_it


def test_closing_closes_the_driver_and_the_device(setup):
    with setup.accelerated:
        pass
    assert setup.driver.is_closed
    assert setup.device.closed
    with pytest.raises(neo4j.exceptions.DriverError, match="Driver closed"):
        setup.accelerated.execute_query(READ)
    setup.accelerated.close()


def test_sessions_of_other_users_are_not_accelerated(setup):
    for config in ({"impersonated_user": "ann"}, {"auth": ("ann", "pw")}):
        setup.accelerated.session(**config).run(READ)
    assert setup.asked_server == [READ, READ]
