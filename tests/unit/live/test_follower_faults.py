"""Faults while a database is followed: each ends in the right state, or in a reason."""

import time

import pytest
from fake_server import FakeServer, facts, silent

from gpugda.config import parse_freshness
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf

NODES = {1: (("A",), {}), 2: (("B",), {})}


@pytest.fixture
def make():
    made = []

    def keeper(server, freshness="strict"):
        if server.changes is None:
            server.tell_changes()
        made.append(SnapshotKeeper(server, parse_freshness(freshness), EmptyShelf(), silent()))
        made[-1].refresh()
        return made[-1]

    yield keeper
    for each in made:
        each.close()


def admitted(keeper):
    """The state that a strict query would be answered from."""
    admission = keeper.admit()
    if admission.loaded is None and admission.newest is not None:
        return keeper.catch_up(admission.newest, admission.asked_at)
    return admission.loaded


def become_another(server, transaction):
    """Replaces the database by a new one with the same name."""
    server.state = type(server.state)({7: (("Other",), {})}, {})
    server.database_id, server.transaction = "another-database", transaction
    server.states = {transaction: server.state}
    server.changes.started = None


@pytest.mark.parametrize("transaction", [3, 10, 11, 500])
def test_a_recreated_database_is_exported_again(make, transaction):
    """Whatever its newest transaction id is, even if it equals the snapshot's."""
    server = FakeServer(NODES)
    keeper = make(server)
    become_another(server, transaction)
    assert admitted(keeper) is None
    loaded = keeper.refresh()
    assert loaded.graph.external_ids.nodes.tolist() == [7]
    server.commit(nodes={8: ((), {})})
    assert admitted(keeper).graph.node_count == 2


def test_two_databases_of_a_server_are_followed_separately(make):
    one, other = FakeServer(NODES), FakeServer({5: (("C",), {})}, facts=facts(database="other"))
    other.database_id = "other-database"
    first, second = make(one), make(other)
    one.commit(nodes={3: ((), {})})
    assert admitted(first).graph.node_count == 3
    other.commit(nodes={6: ((), {})})
    assert admitted(second).graph.external_ids.nodes.tolist() == [5, 6]
    assert admitted(first).graph.node_count == 3
    assert (one.count("read"), other.count("read")) == (1, 1)


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0, -1e9])
def test_changing_the_clock_changes_nothing(make, monkeypatch, jump):
    server, real = FakeServer(NODES), time.time
    for freshness in ("strict", "max_age=0.2s"):
        keeper = make(server, freshness)
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: real() + jump)
            server.commit(nodes={server.transaction: ((), {})})
            time.sleep(0.25)
            assert admitted(keeper).graph.node_count == len(server.state.nodes)


def test_the_state_of_a_lagging_cluster_member_is_ignored(make):
    """The probe reports a state that the member asked for the changes does not have yet."""
    server = FakeServer(NODES)
    keeper = make(server)
    server.changes.known_up_to = server.transaction
    server.commit(nodes={3: ((), {})})
    assert admitted(keeper) is None
    assert keeper.loaded.graph.node_count == 2
    assert keeper.follows
    server.changes.known_up_to = None
    assert admitted(keeper).graph.node_count == 3
    assert server.count("read") == 1


def test_a_failed_request_for_changes_keeps_the_state(make):
    server = FakeServer(NODES)
    keeper = make(server)
    server.commit(nodes={3: ((), {})})

    def die():
        raise ConnectionError("killed")

    server.changes.during_changes = die
    with pytest.raises(ConnectionError):
        admitted(keeper)
    assert keeper.loaded.graph.node_count == 2
    server.changes.during_changes = None
    assert admitted(keeper).graph.node_count == 3
    assert server.count("read") == 1
