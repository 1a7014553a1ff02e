"""The net changes of transactions are the difference of the states before and after."""

import neo4j.time
import numpy as np
import pytz
from gpugda_adapters.change_events import ChangeEvents, EntityEvents, PropertyEvents, net_changes
from histories import as_it_is, histories
from hypothesis import given
from hypothesis import strategies as st

from gpugda.ports import DatabaseVersion


@given(histories(), st.integers(0, 8))
def test_applied_changes_give_the_next_state(database, since):
    since = min(since, database.step)
    batch = net_changes(database.events(since), since, DatabaseVersion("d", database.step))
    state = as_it_is(database.states[since])
    state.apply(batch, keys=["x"])
    assert state == as_it_is(database.states[database.step])
    for table in (batch.node_properties, batch.relationship_properties):
        assert "y" not in table or table["y"].values is None
    for ids in (
        batch.deleted_nodes,
        np.asarray(batch.created_nodes.ids),
        batch.created_relationships.relationship_ids,
        batch.deleted_relationships.relationship_ids,
    ):
        assert (np.diff(ids) > 0).all()


def test_no_events_are_no_changes():
    none = EntityEvents(*[np.empty(0, dtype=np.int64)] * 5)
    nothing = PropertyEvents(*[np.empty(0, dtype=np.int64)] * 4, [], frozenset())
    events = ChangeEvents(0, [], none, none, none, none, none, nothing, nothing)
    batch = net_changes(events, 3, DatabaseVersion("d", 4))
    assert batch.created_nodes.count == batch.created_relationships.count == 0
    assert len(batch.deleted_nodes) == len(batch.labels.node_ids) == 0
    assert not batch.node_properties


def test_an_unrecorded_value_is_read_later():
    none = EntityEvents(*[np.empty(0, dtype=np.int64)] * 5)
    nothing = PropertyEvents(*[np.empty(0, dtype=np.int64)] * 4, [], frozenset())
    one = np.zeros(2, dtype=np.int64)
    touched = PropertyEvents(one, np.array([5, 6]), one, np.array([0, -1]), ["v"], frozenset([0]))
    events = ChangeEvents(1, ["x"], none, none, none, none, none, touched, nothing)
    found = net_changes(events, 3, DatabaseVersion("d", 4)).node_properties["x"]
    assert found.ids.tolist() == [5, 6]
    assert found.values is None


def test_a_label_added_and_removed_is_no_change():
    none = EntityEvents(*[np.empty(0, dtype=np.int64)] * 5)
    nothing = PropertyEvents(*[np.empty(0, dtype=np.int64)] * 4, [], frozenset())
    steps, ids = np.array([0, 0, 1, 1, 2]), np.array([5, 6, 5, 6, 6])
    labels = EntityEvents(steps, ids, codes=np.array([0, -1, -1, 0, -1]))
    events = ChangeEvents(3, ["A"], none, none, labels, none, none, nothing, nothing)
    found = net_changes(events, 3, DatabaseVersion("d", 6)).labels
    assert found.node_ids.tolist() == [6]
    assert found.added.tolist() == [False]


def test_a_time_of_an_unknown_zone_is_read_later():
    none = EntityEvents(*[np.empty(0, dtype=np.int64)] * 5)
    nothing = PropertyEvents(*[np.empty(0, dtype=np.int64)] * 4, [], frozenset())
    one = np.zeros(1, dtype=np.int64)
    when = neo4j.time.DateTime(2020, 1, 1, tzinfo=pytz.timezone("UTC"))
    for value in (when, [when]):
        touched = PropertyEvents(one, one, one, one, [value], frozenset([0]))
        events = ChangeEvents(1, ["x"], none, none, none, none, none, touched, nothing)
        found = net_changes(events, 3, DatabaseVersion("d", 4)).node_properties["x"]
        assert found.ids.tolist() == [0]
        assert found.values is None
