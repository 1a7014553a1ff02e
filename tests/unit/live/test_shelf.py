"""Snapshots that are kept on disk beyond their process."""

import pytest
from fake_server import FakeServer, facts, silent

from gpugda.config import parse_freshness
from gpugda.data.values.columns import column_from_values, to_values
from gpugda.live import keeper as keeper_module
from gpugda.live import shelf as shelf_module
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.shelf import DiskShelf
from gpugda.snapshot.cache import SnapshotCache

NODES = {1: (("A",), {"x": 1}), 2: (("B",), {"x": 2})}
RELATIONSHIPS = {7: (1, 2, "R", {})}


@pytest.fixture
def make(tmp_path, monkeypatch):
    monkeypatch.setattr(shelf_module, "_WORTH_SECONDS", 0.0)
    made = []

    def keeper(server):
        cache = SnapshotCache(tmp_path / "cache")
        shelf = DiskShelf(cache, server)
        made.append(SnapshotKeeper(server, parse_freshness("strict"), shelf, silent()))
        return made[-1]

    yield keeper
    for each in made:
        each.close()


def test_the_next_process_reads_from_disk(make):
    first = make(FakeServer(NODES, RELATIONSHIPS))
    first.refresh()
    assert first.wait(30)
    server = FakeServer(NODES, RELATIONSHIPS)
    keeper = make(server)
    loaded = keeper.refresh()
    assert server.count("read") == 0
    assert loaded.version.transaction == 10
    assert loaded.graph.element_id_of_node(1) == "4:a-database:2"
    assert keeper.admit().loaded is loaded


def test_another_state_or_user_reads_the_database(make):
    first = make(FakeServer(NODES, RELATIONSHIPS))
    first.refresh()
    assert first.wait(30)
    changed = FakeServer(NODES, RELATIONSHIPS)
    changed.commit()
    someone_else = FakeServer(NODES, RELATIONSHIPS, facts(user="eve"))
    for server in (changed, someone_else):
        make(server).refresh()
        assert server.count("read") == 1


def test_a_damaged_entry_is_dropped_and_read_again(make, tmp_path, caplog):
    first = make(FakeServer(NODES, RELATIONSHIPS))
    first.refresh()
    assert first.wait(30)
    for file in (tmp_path / "cache").rglob("arrays-*.arrow"):
        file.write_bytes(b"nothing")
    server = FakeServer(NODES, RELATIONSHIPS)
    assert make(server).refresh().graph.node_count == 2
    assert server.count("read") == 1
    assert "dropped" in caplog.text


def test_a_snapshot_from_disk_is_stored_again_with_more_properties(make, monkeypatch):
    first = make(FakeServer(NODES, RELATIONSHIPS))
    first.refresh()
    assert first.wait(30)
    monkeypatch.setattr(shelf_module, "_WORTH_SECONDS", 1000.0)  # it paid before and still does
    second = make(FakeServer(NODES, RELATIONSHIPS))
    loaded = second.refresh()
    loaded.graph.add_properties({"x": column_from_values([1, 2])}, ["x", "y"], of_nodes=True)
    second.keep(loaded)
    assert second.wait(30)
    found = make(FakeServer(NODES, RELATIONSHIPS)).refresh().graph.node_properties
    assert to_values(found["x"]) == [1, 2]
    assert "y" not in found


def test_a_quick_export_is_not_stored(make, monkeypatch):
    monkeypatch.setattr(shelf_module, "_WORTH_SECONDS", 1000.0)
    first = make(FakeServer(NODES, RELATIONSHIPS))
    first.refresh()
    assert first.wait(30)
    server = FakeServer(NODES, RELATIONSHIPS)
    make(server).refresh()
    assert server.count("read") == 1


def kept_by_an_earlier_process(make, server):
    """Follows the database, saves a snapshot of its state, and ends."""
    server.tell_changes()
    first = make(server)
    first.refresh()
    assert first.wait(30)
    first.close()
    server.calls.clear()


def test_changes_are_applied_to_an_earlier_state_on_disk(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    kept_by_an_earlier_process(make, server)
    server.commit(nodes={3: (("A",), {"x": 3})}, relationships={8: (3, 1, "S", {})})
    server.commit(without=[7])
    keeper = make(server)
    loaded = keeper.refresh()
    assert server.count("read") == 0
    assert (loaded.version.transaction, loaded.transactions) == (12, 2)
    assert loaded.graph.node_count == 3
    assert loaded.graph.external_ids.relationships.tolist() == [8]
    assert keeper.admit().loaded is loaded
    server.commit(without=[8])
    assert keeper.refresh().graph.relationship_count == 0
    assert server.count("read") == 0


def test_a_gap_since_the_state_on_disk_causes_an_export(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    kept_by_an_earlier_process(make, server)
    server.changes.kept = 1
    for number in range(3, 6):
        server.commit(nodes={number: (("A",), {})})
    keeper = make(server)
    loaded = keeper.refresh()
    assert server.count("read") == 1
    assert (loaded.version.transaction, loaded.graph.node_count) == (13, 5)
    # From here on the database is followed again.
    server.commit(nodes={9: (("A",), {})})
    assert keeper.refresh().graph.node_count == 6
    assert server.count("read") == 1


def test_snapshots_of_another_database_or_user_are_not_used(make):
    server = FakeServer(NODES, RELATIONSHIPS)
    kept_by_an_earlier_process(make, server)
    server.database_id = "another"
    server.commit(nodes={3: (("A",), {})})
    assert make(server).refresh().version.database_id == "another"
    assert server.count("read") == 1
    someone_else = FakeServer(NODES, RELATIONSHIPS, facts(user="eve"))
    someone_else.tell_changes()
    someone_else.commit()
    make(someone_else).refresh()
    assert someone_else.count("read") == 1


def test_a_later_state_replaces_the_one_on_disk(make, monkeypatch):
    server = FakeServer(NODES, RELATIONSHIPS)
    kept_by_an_earlier_process(make, server)
    monkeypatch.setattr(shelf_module, "_WORTH_SECONDS", 1000.0)
    monkeypatch.setattr(keeper_module, "_KEEP_TRANSACTIONS", 1)
    for number in range(3, 6):
        server.commit(nodes={number: (("A",), {})})
    second = make(server)
    second.refresh()
    assert second.wait(30)
    second.close()
    server.changes.kept = 0
    assert make(server).refresh().graph.node_count == 5
    assert server.count("read") == 0
