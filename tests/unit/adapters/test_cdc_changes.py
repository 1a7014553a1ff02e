"""Applied changes of change data capture, DIFF and FULL, give the state of the database."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from fake_server import FACTS
from gpugda_adapters.cdc_changes import CapturedChanges, captures_changes
from histories import as_it_is, histories
from hypothesis import given
from hypothesis import strategies as st
from neo4j.exceptions import Neo4jError

from gpugda.ports import ChangeBatch, ChangeGap, DatabaseVersion

UUID = "cf87b189-b0fe-4098-835d-92493d9be7f7"


def captured(states, mode):
    """Rows of db.cdc.query: the differences between states by transaction."""
    rows = []
    for number in sorted(states)[1:]:
        old, new = states[number - 1], states[number]
        for kind, was, now in (
            ("n", old.nodes, new.nodes),
            ("r", old.relationships, new.relationships),
        ):
            for each in sorted(set(was) | set(now)):
                rows += entity(kind, each, was.get(each), now.get(each), number, mode)
    return [{"id": f"change {place}", **row} for place, row in enumerate(rows)]


def entity(kind, number, was, now, transaction, mode):
    if was is now:
        return []
    if was is not None and now is not None and was[0] is not now[0]:
        deleted = entity(kind, number, was, None, transaction, mode)
        return deleted + entity(kind, number, None, now, transaction, mode)
    before, after = side(kind, was), side(kind, now)
    if mode == "DIFF" and before and after:
        before, after = differing(before, after), differing(after, before)
    row = was or now
    event = {
        "elementId": f"{4 if kind == 'n' else 5}:{UUID}:{number}",
        "eventType": kind,
        "operation": "c" if was is None else "d" if now is None else "u",
        "state": {"before": before, "after": after},
    }
    if kind == "r":
        event["start"], event["end"] = ({"elementId": f"4:{UUID}:{each}"} for each in row[1:3])
        event["type"] = row[3]
    return [{"transaction": transaction, "event": event}]


def side(kind, row):
    if row is None:
        return None
    labels = {"labels": list(row[1])} if kind == "n" else {}
    return {"properties": dict(row[-1]), **labels}


def differing(one, other):
    properties = {
        key: value
        for key, value in one["properties"].items()
        if other["properties"].get(key) != value
    }
    labels = [label for label in one.get("labels", ()) if label not in other.get("labels", ())]
    return {"properties": properties, **({"labels": labels} if "labels" in one else {})}


class Connection:
    """A fake connection that answers the queries for captured changes."""

    facts = FACTS

    def __init__(self, rows, newest=0):
        self.rows = rows
        self.newest = newest
        self.error = None
        self.asked = []

    def version(self, transaction):
        return DatabaseVersion(f"{UUID}@1", transaction, "bookmark")

    def probe(self, timeout=None):
        return self.version(self.newest)

    @contextmanager
    def session(self, *, bookmarks=None):
        yield self

    @contextmanager
    def watch(self, session, seconds):
        yield

    @contextmanager
    def check(self, doing):
        yield

    def prefix(self, text):
        return text

    def run(self, text, parameters=None):
        if self.error:
            raise self.error
        known = [row for row in self.rows if row["transaction"] <= self.newest]
        if "current" in text:
            return [{"id": known[-1]["id"] if known else "change -1"}]
        # The rows may be of later transactions than the requested one.
        after = int(parameters["after"].split()[1])
        self.asked.append(after)
        found = [SimpleNamespace(data=lambda row=row: row) for row in self.rows[after + 1 :]]
        return SimpleNamespace(fetch=lambda count: [found.pop(0) for _ in found[:count]])


@pytest.mark.parametrize("mode", ["DIFF", "FULL"])
@given(history=histories(), data=st.data())
def test_applied_changes_give_the_current_state(history, data, mode):
    connection = Connection(captured(history.states, mode))
    connection.newest = data.draw(st.integers(0, history.step))
    changes = CapturedChanges(connection)
    version = changes.follow()
    state = as_it_is(history.states[version.transaction])
    while connection.newest < history.step:
        connection.newest = data.draw(st.integers(connection.newest + 1, history.step))
        batch = changes.changes_since(version, connection.probe())
        assert isinstance(batch, ChangeBatch), batch
        assert batch.version.transaction == connection.newest
        state.apply(batch, keys=["x"])
        assert state == as_it_is(history.states[connection.newest])
        version = batch.version


def test_a_state_that_was_never_followed_is_a_gap():
    connection = Connection([], newest=5)
    changes = CapturedChanges(connection)
    assert isinstance(changes.changes_since(connection.version(5)), ChangeGap)
    changes.follow()
    assert isinstance(changes.changes_since(connection.version(4)), ChangeGap)
    other = DatabaseVersion(f"{UUID}@2", 5)
    assert isinstance(changes.changes_since(other), ChangeGap)
    assert isinstance(changes.changes_since(connection.version(5), other), ChangeGap)


def test_pruned_or_disabled_capture_is_a_gap():
    connection = Connection([], newest=5)
    changes = CapturedChanges(connection)
    version = changes.follow()
    connection.error = Neo4jError._hydrate_neo4j(
        code="Neo.ClientError.ChangeDataCapture.InvalidIdentifier", message="pruned"
    )
    found = changes.changes_since(version)
    assert isinstance(found, ChangeGap)
    assert "pruned" in found.reason
    refused = changes.follow()
    assert isinstance(refused, ChangeGap)
    assert "not captured" in refused.reason
    assert not captures_changes(connection)


def test_a_change_of_an_unknown_form_is_a_gap():
    rows = [{"id": "change 0", "transaction": 6, "event": {"eventType": "n", "operation": "?"}}]
    connection = Connection(rows, newest=5)
    changes = CapturedChanges(connection)
    version = changes.follow()
    connection.newest = 6
    found = changes.changes_since(version)
    assert isinstance(found, ChangeGap)
    assert "form" in found.reason
