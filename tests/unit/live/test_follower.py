"""A snapshot that follows its database by the changes that the database reports."""

import random
import threading

import numpy as np
import pytest
from fake_server import FakeServer, facts, silent

from gpugda.config import parse_freshness
from gpugda.data.values.columns import to_values
from gpugda.errors import SourceError
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.properties import MissingProperties, load_properties
from gpugda.live.reading import EmptyShelf
from gpugda.ports import Projection

NODES = {1: (("A",), {"x": 1}), 2: (("B",), {"x": 2}), 5: ((), {})}
RELATIONSHIPS = {7: (1, 2, "R", {"w": 1}), 8: (2, 2, "S", {})}


@pytest.fixture
def make():
    made = []

    def keeper(server=None, freshness="strict", load=True):
        server = server or FakeServer(NODES, RELATIONSHIPS)
        if server.changes is None:
            server.tell_changes()
        made.append(SnapshotKeeper(server, parse_freshness(freshness), EmptyShelf(), silent()))
        if load:
            made[-1].refresh()
        return made[-1], server

    yield keeper
    for each in made:
        each.close()


def admitted(keeper):
    """The state that a strict query would be answered from."""
    admission = keeper.admit()
    if admission.loaded is None and admission.newest is not None:
        return keeper.catch_up(admission.newest, admission.asked_at)
    return admission.loaded


def admitted_at_once(keeper):
    """The same with one request."""
    admission = keeper.admit_following()
    return None if admission is None else admission.loaded


def values(loaded, key, of_nodes=True):
    graph = loaded.graph
    store = graph.node_properties if of_nodes else graph.relationship_properties
    found = zip(graph.external_ids.of(of_nodes).tolist(), to_values(store[key]), strict=True)
    return {number: value for number, value in found if value is not None}


def load(keeper, server, nodes=(), relationships=()):
    missing = MissingProperties(tuple(nodes), tuple(relationships), 0.0)
    return load_properties(keeper, server, keeper.loaded, missing)


def test_following_starts_before_the_export(make):
    keeper, server = make()
    calls = [each[0] for each in server.calls]
    assert calls.index("follow") < calls.index("read")
    assert keeper.follows
    assert keeper.follower.described == "a fake"


def test_a_commit_is_applied_without_another_export(make):
    keeper, server = make()
    first = keeper.loaded
    server.commit(nodes={3: (("A", "C"), {})}, relationships={9: (3, 1, "R", {})}, without=[7])
    assert keeper.admit().loaded is None
    found = admitted(keeper)
    assert found.version == server.version_of()
    assert found.transactions == 1
    assert found.graph.external_ids.nodes.tolist() == [1, 2, 3, 5]
    assert sorted(found.graph.external_ids.relationships.tolist()) == [8, 9]
    assert server.count("read") == 1
    assert keeper.admit().loaded is found
    # Holders of the old state can still read it.
    assert first.graph.node_count == 3
    assert sorted(first.graph.external_ids.relationships.tolist()) == [7, 8]


def test_a_refresh_applies_what_changed(make):
    keeper, server = make()
    server.commit(nodes={3: ((), {})})
    assert keeper.refresh().version == server.version_of()
    assert server.count("read") == 1
    assert keeper.refresh() is keeper.loaded


def test_transactions_without_data_changes_keep_graph_and_plans(make):
    keeper, server = make()
    before = keeper.loaded
    server.commit()
    server.changes._between, between = None, server.changes._between

    def without_count(since, last):
        from dataclasses import replace

        return replace(between(since, last), transaction_count=0)

    server.changes._between = without_count
    found = admitted(keeper)
    assert found.version == server.version_of() != before.version
    assert found.graph is before.graph
    assert found.plans is before.plans


def test_values_of_loaded_columns_are_updated(make):
    keeper, server = make()
    assert values(load(keeper, server, ["x"], ["w"]), "x") == {1: 1, 2: 2}
    server.commit(nodes={1: (("A",), {"x": "one", "y": 5})}, relationships={7: (1, 2, "R", {})})
    asked = server.count("properties")
    found = admitted(keeper)
    assert values(found, "x") == {1: "one", 2: 2}
    assert values(found, "w", of_nodes=False) == {}
    assert server.count("properties") == asked  # the changes included them
    assert "y" not in found.graph.node_properties.loaded_keys


def test_unreported_values_are_read_and_proven(make):
    keeper, server = make()
    load(keeper, server, ["x"])
    server.changes.keys[True].clear()  # as a server that reports no values
    server.commit(nodes={1: (("A",), {"x": 10})})
    asked = server.count("properties")
    server.changes.follow = lambda *keys: server.version_of()
    assert values(admitted(keeper), "x") == {1: 10, 2: 2}
    assert server.count("properties") == asked + 1
    # The database changes during the read: its result is discarded, and the read is repeated.
    commits = iter([lambda: server.commit(nodes={2: (("B",), {"x": 21})}), lambda: None])
    server.commit(nodes={1: (("A",), {"x": 11})})
    server.during_properties = lambda: next(commits)()
    found = admitted(keeper)
    assert values(found, "x") == {1: 11, 2: 21}
    assert found.version == server.version_of()


def test_unproven_values_count_as_not_read(make):
    keeper, server = make()
    load(keeper, server, ["x"])
    server.changes.keys[True].clear()
    server.changes.follow = lambda *keys: server.version_of()
    server.commit(nodes={1: (("A",), {"x": 10})})
    server.during_properties = lambda: server.commit(nodes={1: (("A",), {"x": 11})})
    found = admitted(keeper)
    assert "x" not in found.graph.node_properties.loaded_keys
    server.during_properties = None
    admitted(keeper)
    assert values(load(keeper, server, ["x"]), "x") == {1: 11, 2: 2}


def test_a_column_read_during_changes_is_of_one_state(make):
    keeper, server = make()
    server.during_properties = lambda: server.commit(
        nodes={1: (("A",), {"x": 100}), 6: ((), {"x": 6})}
    )
    found = load(keeper, server, ["x"])
    assert found.version.transaction >= 11
    assert values(found, "x") == {
        number: row[1]["x"]
        for number, row in server.states[found.version.transaction].nodes.items()
        if "x" in row[1]
    }
    assert keeper.loaded is found


def test_all_properties_stay_complete(make):
    keeper, server = make()
    found = load_properties(keeper, server, keeper.loaded, MissingProperties(None, None, 0.0))
    assert found.graph.node_properties.complete
    server.commit(nodes={5: ((), {"new": [1, 2], "x": 3})})
    found = admitted(keeper)
    assert found.graph.node_properties.complete
    assert values(found, "new") == {5: [1, 2]}
    assert values(found, "x") == {1: 1, 2: 2, 5: 3}


SEVERAL = {1: (("B",), {}), 2: (("A", "C", "B"), {}), 3: (("C", "B"), {}), 4: ((), {})}


def label_lists(loaded):
    graph = loaded.graph
    lists = map(list, graph.labels_of(np.arange(graph.node_count)))
    return dict(zip(graph.external_ids.nodes.tolist(), lists, strict=True))


def test_labels_are_listed_as_the_server_lists_them(make):
    """In any order of the changes, as these are a set."""
    keeper, server = make(FakeServer(SEVERAL))
    server.commit(
        nodes={
            1: (("A", "C", "B"), {}),
            3: (("A", "B"), {}),
            7: (("A", "B"), {}),
            8: (("A", "C"), {}),
        }
    )
    found = admitted(keeper)
    assert label_lists(found)[1] == ["A", "C", "B"]
    assert label_lists(found) == {n: list(row[0]) for n, row in server.state.nodes.items()}
    assert server.count("labels") == 0  # inferred from nodes
    server.commit(nodes={4: (("A", "D", "B"), {}), 9: (("E", "A"), {}), 10: (("D",), {})})
    found = admitted(keeper)
    assert label_lists(found) == {n: list(row[0]) for n, row in server.state.nodes.items()}
    assert server.count("labels") == 2
    server.commit(nodes={9: (("E", "A", "B"), {}), 10: (("D", "B"), {})})
    found = admitted(keeper)
    assert label_lists(found) == {n: list(row[0]) for n, row in server.state.nodes.items()}
    assert server.count("labels") == 2
    assert server.count("read") == 1


def test_an_unknown_order_of_labels_is_not_guessed(make):
    keeper, server = make(FakeServer(SEVERAL))
    server.commit(nodes={9: (("A", "D"), {})})
    newest, asked_at = keeper.admit().newest, 0.0
    server.commit(without=[9])
    server.changes.known_up_to = newest.transaction
    assert keeper.catch_up(newest, asked_at) is None
    assert "labels" in keeper.follower.reason
    server.changes.known_up_to = None
    keeper.refresh()
    assert label_lists(keeper.loaded) == {n: list(row[0]) for n, row in server.state.nodes.items()}


def test_a_gap_causes_an_export(make):
    keeper, server = make()
    server.commit(nodes={3: ((), {})})
    server.changes.kept = 0
    assert admitted(keeper) is None
    assert not keeper.follows
    assert "too much was changed" in keeper.follower.reason
    found = keeper.refresh()
    assert server.count("read") == 2
    assert found.transactions == 0
    assert keeper.follows
    server.changes.kept = 1000
    server.commit(without=[3])
    assert admitted(keeper).graph.node_count == 3
    assert server.count("read") == 2


def test_inconsistent_changes_cause_an_export(make, caplog):
    keeper, server = make()
    server.states[10].nodes[77] = ((), {})  # changes contradict the snapshot: the node is not in it
    server.commit(without=[77])
    assert admitted(keeper) is None
    assert "did not match" in keeper.follower.reason
    assert "do not match" in caplog.text
    assert keeper.refresh().version == server.version_of()
    assert server.count("read") == 2


def test_a_restarted_server_is_exported_again(make):
    keeper, server = make()
    server.commit(nodes={3: ((), {})})
    server.database_id = "a-database, started anew"
    assert admitted(keeper) is None
    assert "restarted" in keeper.follower.reason
    server.changes.started = None
    assert keeper.refresh().graph.node_count == 4
    assert server.count("read") == 2


def test_transactions_being_committed_cause_no_export(make):
    keeper, server = make()
    server.changes.known_up_to = 10
    server.commit(nodes={3: ((), {})})
    assert admitted(keeper) is None
    assert keeper.follows
    server.changes.known_up_to = None
    assert admitted(keeper).graph.node_count == 4
    assert server.count("read") == 1


def test_a_part_of_a_database_is_not_followed(make):
    server = FakeServer(NODES, RELATIONSHIPS, projection=Projection(labels=("A",)))
    keeper, _ = make(server)
    assert not keeper.follows
    assert "some labels or types" in keeper.follower.reason
    assert server.count("follow") == 0


def test_a_server_that_cannot_be_followed_is_exported_again(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    server.tell_changes()

    def lost(*keys):
        raise SourceError("the connection was cut")

    server.changes.follow = lost
    keeper, _ = make(server)
    assert keeper.loaded is not None
    assert "was cut" in keeper.follower.reason


def test_a_database_without_changes_is_not_followed():
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = SnapshotKeeper(server, parse_freshness("strict"), EmptyShelf(), silent())
    keeper.refresh()
    assert not keeper.follows
    assert "does not report" in keeper.follower.reason
    keeper.close()


def test_two_accelerators_apply_changes_once(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    one, _ = make(server)
    two, _ = make(server)
    assert server.count("read") == 1
    assert two.loaded is one.loaded
    server.commit(nodes={3: ((), {})})
    found = admitted(one)
    asked = server.count("changes")
    assert admitted(two) is found
    assert server.count("changes") == asked
    # Another user may see different data.
    other = FakeServer(NODES, RELATIONSHIPS, facts=facts(user="somebody else"))
    three, _ = make(other)
    assert three.loaded is not two.loaded


def test_max_age_and_manual_freshness_follow_on_request(make):
    keeper, server = make(freshness="max_age=1h")
    server.commit(nodes={3: ((), {})})
    assert keeper.admit().loaded.graph.node_count == 3
    keeper._newest_at -= 3601
    assert admitted(keeper).graph.node_count == 4
    assert keeper.admit().loaded.graph.node_count == 4
    manual, server = make(FakeServer(NODES, RELATIONSHIPS, facts=facts(user="m")), "manual")
    server.commit(nodes={3: ((), {})})
    assert manual.admit().loaded.graph.node_count == 3
    assert manual.refresh().graph.node_count == 4
    assert server.count("read") == 1


def test_a_late_answer_does_not_restore_an_older_state(make):
    keeper, server = make()
    old = server.version_of()
    server.commit(nodes={3: ((), {})})
    found = admitted(keeper)
    keeper.observe(old, 0.0)
    assert not keeper.is_stale
    assert keeper.covers(old)
    assert admitted(keeper) is found


def test_one_request_gives_the_newest_state_and_its_changes(make):
    keeper, server = make()
    assert not keeper.prefers_changes
    server.commit(nodes={3: ((), {})})
    admitted(keeper)
    assert keeper.prefers_changes  # for now it looks busy with writes
    asked = len(server.calls)
    server.commit(nodes={4: ((), {})})
    admission = keeper.admit_following()
    assert [each[0] for each in server.calls[asked:]] == ["changes"]
    assert admission.loaded.version == server.version_of()
    assert admission.loaded.graph.node_count == 5
    assert "changes were applied up to transaction 12" in admission.reason
    again = keeper.admit_following()
    assert again.loaded is admission.loaded is keeper.loaded
    assert "transaction 12 is the newest" in again.reason
    for _ in range(10):
        keeper.admit_following()
    assert not keeper.prefers_changes  # no longer
    assert server.count("read") == 1


def test_an_unproven_answer_needs_another_request(make):
    keeper, server = make()
    server.commit(nodes={3: ((), {})})
    server.changes.tells_newest = False
    before = keeper.loaded
    assert keeper.admit_following() is None
    assert keeper.loaded is before
    assert keeper.follows
    server.changes.tells_newest = True
    server.changes.known_up_to = 10  # others are still committing
    assert keeper.admit_following() is None
    server.changes.known_up_to = None
    assert keeper.admit_following().loaded.graph.node_count == 4
    server.changes.kept = 0
    server.commit(nodes={4: ((), {})})
    assert keeper.admit_following() is None
    assert not keeper.follows


def test_unreported_values_need_another_request(make):
    keeper, server = make()
    load(keeper, server, ["x"])
    server.changes.keys[True].clear()  # as a server that reports no values
    server.changes.follow = lambda *keys: server.version_of()
    server.commit(nodes={1: (("A",), {"x": 11})})
    commits = iter([lambda: server.commit(nodes={2: (("B",), {"x": 21})}), lambda: None])
    server.during_properties = lambda: next(commits)()
    found = keeper.admit_following().loaded
    assert values(found, "x") == {1: 11, 2: 21}
    assert found.version == server.version_of()


@pytest.mark.parametrize("admitted", [admitted, admitted_at_once])
def test_readers_see_whole_states_beside_writers(make, admitted):
    """Two nodes always change together, and a number only increases."""
    server = FakeServer({1: ((), {"n": 0}), 2: ((), {"n": 0})}, {})
    keeper, _ = make(server)
    load(keeper, server, ["n"])
    stop, wrong = threading.Event(), []

    def write():
        draw, number = random.Random(1), 0
        while not stop.wait(0.001):
            number += 1
            extra = {draw.randrange(3, 9): (("X",), {"n": number})}
            server.commit(
                nodes={1: ((), {"n": number}), 2: ((), {"n": number}), **extra},
                relationships={50 + number % 5: (1, 2, f"T{number % 3}", {})},
            )

    def read():
        last = 0
        for _ in range(60):
            least = server.state.nodes[1][1]["n"]
            found = admitted(keeper)
            if found is None:
                continue
            seen = values(found, "n")
            if seen[1] != seen[2] or seen[1] < max(last, least):
                wrong.append((seen, last, least))
            last = seen[1]

    writer = threading.Thread(target=write)
    readers = [threading.Thread(target=read) for _ in range(3)]
    for each in (writer, *readers):
        each.start()
    for each in readers:
        each.join(60)
    stop.set()
    writer.join(60)
    assert not wrong, wrong[:3]
    assert server.count("read") == 1
    found = admitted(keeper)
    state = server.state
    assert found.graph.external_ids.nodes.tolist() == sorted(state.nodes)
    assert values(found, "n") == {number: row[1]["n"] for number, row in state.nodes.items()}
    assert sorted(found.graph.external_ids.relationships.tolist()) == sorted(state.relationships)
