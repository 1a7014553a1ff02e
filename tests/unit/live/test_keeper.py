"""Conditions under which a snapshot may answer, and its refreshes."""

import logging
import threading
import time

import pytest
from fake_server import FakeServer, facts, silent

from gpugda.config import parse_freshness
from gpugda.errors import SourceError, StaleSnapshotError
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf

NODES = {1: (("A",), {"x": 1}), 2: (("B",), {"x": 2})}
RELATIONSHIPS = {7: (1, 2, "R", {})}


@pytest.fixture
def make():
    made = []

    def keeper(server, freshness="strict", shelf=None):
        made.append(
            SnapshotKeeper(server, parse_freshness(freshness), shelf or EmptyShelf(), silent())
        )
        return made[-1]

    yield keeper
    for each in made:
        each.close()
    assert not [t for t in threading.enumerate() if t.name == "gpugda-refresh"]


def test_without_a_snapshot_nothing_is_admitted_or_probed(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    admission = make(server).admit()
    assert admission.loaded is None
    assert "no snapshot yet" in admission.reason
    assert server.calls == []


def test_strict_freshness_probes_once_per_query(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    loaded = keeper.refresh()
    asked = server.count("probe")
    assert keeper.admit().loaded is loaded
    assert server.count("probe") == asked + 1
    server.commit()
    admission = keeper.admit()
    assert admission.loaded is None
    assert "transaction 11" in admission.reason
    asked = server.count("probe")
    assert keeper.admit().loaded is None  # a newer state is known: no further probe
    assert server.count("probe") == asked


def test_a_refresh_reads_only_what_changed(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    first = keeper.refresh()
    assert keeper.refresh() is first
    assert server.count("read") == 1
    server.commit(nodes={3: ((), {})})
    second = keeper.refresh()
    assert (first.graph.node_count, second.graph.node_count) == (2, 3)
    assert second.version.transaction == 11
    assert not keeper.is_stale
    assert keeper.admit().loaded is second


def test_max_age_probes_only_when_the_age_is_reached(make, monkeypatch):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server, "max_age=5s")
    now = time.monotonic()
    monkeypatch.setattr("gpugda.live.age_clock._CLOCK", None)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    loaded = keeper.refresh()
    asked = server.count("probe")
    server.commit()
    now += 4.9
    assert keeper.admit().loaded is loaded
    assert server.count("probe") == asked
    now += 0.2
    assert keeper.admit().loaded is None
    assert server.count("probe") == asked + 1


def test_max_age_starts_again_if_nothing_changed(make, monkeypatch):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server, "max_age=5s")
    now = time.monotonic()
    monkeypatch.setattr("gpugda.live.age_clock._CLOCK", None)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    loaded = keeper.refresh()
    asked = server.count("probe")
    for _ in range(3):
        now += 6
        assert keeper.admit().loaded is loaded
        now += 4
        assert keeper.admit().loaded is loaded
    assert server.count("probe") == asked + 3


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="another clock counts sleep")
def test_age_grows_while_the_machine_sleeps(make, monkeypatch):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server, "max_age=5m")
    loaded = keeper.refresh()
    server.commit()
    assert keeper.admit().loaded is loaded
    awake = time.clock_gettime
    asleep = {time.CLOCK_BOOTTIME: 8 * 3600.0}  # CLOCK_MONOTONIC stands still
    monkeypatch.setattr(time, "clock_gettime", lambda clock: awake(clock) + asleep.get(clock, 0.0))
    assert keeper.admit().loaded is None


def test_manual_freshness_never_probes(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server, "manual")
    loaded = keeper.refresh()
    asked = server.count("probe")
    server.commit()
    assert keeper.admit().loaded is loaded
    assert server.count("probe") == asked


def test_a_database_changed_during_an_export_is_read_again(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    changes = iter([lambda: server.commit(nodes={3: ((), {})}), lambda: None])
    server.during_read = lambda: next(changes)()
    loaded = make(server).refresh()
    assert server.count("read") == 2
    assert loaded.graph.node_count == 3
    assert loaded.version.transaction == 11


def test_a_database_with_constant_writes_has_no_snapshot(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    server.during_read = server.commit
    keeper = make(server)
    with pytest.raises(StaleSnapshotError, match="during each of 3 attempts"):
        keeper.refresh()
    assert keeper.loaded is None


def test_a_failed_refresh_keeps_the_snapshot(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server, "manual")
    loaded = keeper.refresh()
    server.commit()

    def lost():
        raise SourceError("the connection was cut")

    server.during_read = lost
    with pytest.raises(SourceError, match="was cut"):
        keeper.refresh()
    assert keeper.admit().loaded is loaded


def test_another_database_at_the_same_address_is_recognised(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    keeper.refresh()
    server.database_id = "restored"
    admission = keeper.admit()
    assert admission.loaded is None
    assert "restored" in admission.reason


def test_answers_reveal_newer_states(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    keeper.refresh()
    keeper.observe(server.probe())
    assert not keeper.is_stale
    server.commit()
    keeper.observe(server.probe())
    assert keeper.is_stale


def test_a_late_report_of_an_older_state_is_ignored(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    old = server.probe()
    server.commit()
    keeper.refresh()
    keeper.observe(old)
    assert not keeper.is_stale


def test_a_probe_confirms_that_a_snapshot_is_current(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    loaded = keeper.refresh()
    assert keeper.confirm(loaded)
    server.commit()
    assert not keeper.confirm(loaded)
    keeper.refresh()
    assert not keeper.confirm(loaded)  # the database is unchanged, but this snapshot is older


def test_a_refresh_runs_in_the_background(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    released = threading.Event()
    server.during_read = lambda: released.wait(30)
    assert keeper.refresh_soon()
    assert keeper.busy
    assert "still being read" in keeper.admit().reason
    assert not keeper.refresh_soon()
    released.set()
    assert keeper.wait(30)
    assert keeper.admit().loaded is not None
    assert ("read", True) in server.calls  # at low priority: no query waits for it


def test_the_reason_for_a_missing_snapshot_is_given(make, caplog):
    server = FakeServer(NODES, RELATIONSHIPS)

    def lost():
        raise SourceError("the connection was cut")

    server.during_read = lost
    keeper = make(server)
    keeper.refresh_soon()
    keeper.wait(30)
    assert "the connection was cut" in keeper.admit().reason
    assert "the connection was cut" in caplog.text


def test_a_torn_export_in_the_background_is_logged_as_information(make, caplog):
    caplog.set_level(logging.INFO, logger="gpugda")
    server = FakeServer(NODES, RELATIONSHIPS)
    server.during_read = server.commit
    keeper = make(server)
    keeper.refresh_soon()
    keeper.wait(30)
    told = [record for record in caplog.records if "gpugda-refresh" in record.getMessage()]
    assert [record.levelname for record in told] == ["INFO"]
    assert "The database changed while it was read" in told[0].getMessage()
    assert "The database changed while it was read" in keeper.admit().reason
    with pytest.raises(StaleSnapshotError, match="during each of 2 attempts"):
        keeper.refresh(attempts=2)
    assert [record for record in caplog.records if record.levelno > logging.INFO] == []


def test_closing_stops_a_refresh(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    keeper.refresh()
    keeper.wait(30)
    server.commit()
    keeper._rest_until = 0.0
    entered = threading.Event()

    def slow():
        entered.set()
        time.sleep(0.2)

    server.during_read = slow
    assert keeper.refresh_soon()
    entered.wait(30)
    keeper.close()
    assert not keeper.busy
    assert keeper.loaded.version.transaction == 10


def test_refreshes_pause_under_steady_writes(make, monkeypatch):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def written_to():
        nonlocal now
        now += 1
        server.commit()

    server.during_read = written_to
    assert keeper.refresh_soon()
    assert keeper.wait(30)
    now += 0.9
    assert not keeper.refresh_soon()  # it pauses at least as long as the attempt took
    assert not keeper.busy
    now += 3
    assert keeper.refresh_soon()
    assert keeper.wait(30)


def test_a_server_without_bookmarks_cannot_be_strict(make):
    server = FakeServer(NODES, RELATIONSHIPS, facts=facts(has_bookmarks=False))
    for freshness, admitted in (("strict", False), ("max_age=1h", True), ("manual", True)):
        keeper = make(server, freshness)
        keeper.refresh()
        assert (keeper.admit().loaded is not None) == admitted, freshness


def test_storing_waits_for_work_in_the_background(make):
    class Shelf(EmptyShelf):
        def __init__(self):
            self.kept = []

        def keep(self, loaded):
            self.kept.append(loaded)

    server, shelf = FakeServer(NODES, RELATIONSHIPS), Shelf()
    keeper = make(server, shelf=shelf)
    loaded = keeper.refresh()
    keeper.wait(30)
    assert shelf.kept == [loaded]
    released = threading.Event()
    assert keeper.in_background(lambda: released.wait(30))
    keeper.keep(loaded)
    released.set()
    assert keeper.wait(30)
    assert shelf.kept == [loaded, loaded]


def test_a_probe_is_awaited_only_on_demand(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    assert not keeper.needs_probe
    with keeper.asking() as answer:
        assert answer().loaded is None
    loaded = keeper.refresh()
    assert keeper.needs_probe
    asked = server.count("probe")
    with keeper.asking() as answer:
        assert server.count("probe") == asked
        assert answer().loaded is loaded
    with keeper.asking() as answer:
        server.commit()  # before the server answers: it reports this state
        admission = answer()
    assert admission.loaded is None
    assert "transaction 11" in admission.reason
    assert not keeper.needs_probe  # a state known to be stale needs no probe
    asked = server.count("probe")
    with keeper.asking() as answer:
        assert answer().loaded is None
    assert server.count("probe") == asked


@pytest.mark.parametrize("freshness", ["manual", "max_age=1h"])
def test_no_probe_is_sent_if_freshness_needs_none(make, freshness):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server, freshness)
    loaded = keeper.refresh()
    asked = server.count("probe")
    assert not keeper.needs_probe
    with keeper.asking() as answer:
        assert answer().loaded is loaded
    assert server.count("probe") == asked


def test_a_snapshot_covers_bookmarks_of_its_state_and_earlier_ones(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    assert not keeper.covers(server.version_in("bookmark 9"))
    keeper.refresh()
    assert keeper.covers(server.version_in("bookmark 9"))
    assert keeper.covers(server.version_in("bookmark 10"))
    assert not keeper.is_stale
    assert not keeper.covers(server.version_in("bookmark 11"))
    assert keeper.is_stale
    keeper.refresh()
    server.database_id = "another"
    assert not keeper.covers(server.version_in("bookmark 9"))
