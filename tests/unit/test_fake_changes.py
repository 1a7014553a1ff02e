"""The fake source of changes behaves as its port says."""

from dataclasses import replace

from fake_server import FakeServer

from gpugda.data.values.columns import to_values
from gpugda.ports import ChangeBatch, ChangeGap, DatabaseServer

NODES = {1: (["A"], {"x": 1}), 2: (["A", "B"], {}), 3: ([], {})}
RELATIONSHIPS = {7: (1, 2, "R", {"w": 5}), 8: (2, 3, "S", {})}


def following(**keys):
    server = FakeServer(NODES, RELATIONSHIPS)
    changes = server.tell_changes()
    return server, changes, changes.follow(**keys)


def test_the_fake_implements_the_port():
    assert isinstance(FakeServer(), DatabaseServer)
    assert FakeServer().change_source() is None


def test_several_transactions_become_one_batch():
    server, changes, start = following(node_keys=["x"])
    server.commit(nodes={4: (["C"], {"x": 2}), 1: (["B"], {})})
    server.commit(relationships={9: (4, 2, "R", {"w": 1})}, without=[7])
    server.commit(nodes={5: (["A"], {})})
    server.commit(without=[5])

    batch = changes.changes_since(start)
    assert isinstance(batch, ChangeBatch)
    assert (batch.since, batch.version.transaction, batch.transaction_count) == (10, 14, 4)
    assert batch.created_nodes.ids.to_pylist() == [4]
    assert batch.created_nodes.label_sets == (("C",),)
    assert batch.deleted_nodes.tolist() == []
    named = [batch.labels.labels[code] for code in batch.labels.label_codes]
    assert list(zip(batch.labels.node_ids.tolist(), named, batch.labels.added, strict=True)) == [
        (1, "A", False),
        (1, "B", True),
    ]
    assert batch.created_relationships.relationship_ids.tolist() == [9]
    assert batch.deleted_relationships.relationship_ids.tolist() == [7]
    assert batch.node_properties["x"].ids.tolist() == [1, 4]
    assert to_values(batch.node_properties["x"].values) == [None, 2]
    assert batch.relationship_properties["w"].values is None


def test_a_reused_id_is_deleted_and_created():
    server, changes, start = following()
    server.commit(relationships={7: (2, 2, "R", {})})
    batch = changes.changes_since(start)
    assert batch.deleted_relationships.target_ids.to_pylist() == [2]
    assert batch.deleted_relationships.source_ids.to_pylist() == [1]
    assert batch.created_relationships.source_ids.to_pylist() == [2]


def test_gaps_are_reported():
    server, changes, start = following()
    assert isinstance(changes.changes_since(replace(start, transaction=9)), ChangeGap)
    assert isinstance(changes.changes_since(replace(start, database_id="another")), ChangeGap)
    changes.kept = 1
    server.commit()
    assert isinstance(changes.changes_since(start), ChangeBatch)
    server.commit()
    assert isinstance(changes.changes_since(start), ChangeGap)
