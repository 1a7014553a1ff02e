"""Compaction of patched arrays in the background: queries are not affected, whatever happens."""

import logging
import threading

import numpy as np
import pytest
from fake_server import silent
from random_database import RandomDatabase

from gpugda.config import parse_freshness
from gpugda.data.csr import Csr
from gpugda.data.increments.apply import applied
from gpugda.data.patches import changing, patched
from gpugda.data.patches.form import Form
from gpugda.data.patches.patched import Patched, whole
from gpugda.live.compacting import Compactor
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf

SECONDS = 60.0


@pytest.fixture(autouse=True)
def soon_worn(monkeypatch):
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    monkeypatch.setattr(patched, "MANY_STRETCHES", 12)


@pytest.fixture
def rebased(monkeypatch):
    """A list that grows with each array that is rebased."""
    found, rebase = [], Patched.rebase

    def spy(self, older):
        done = rebase(self, older)
        found.append(done)
        return done

    monkeypatch.setattr(Patched, "rebase", spy)
    return found


@pytest.fixture
def make():
    made = []

    def keeper(seed=0, size=150):
        database = RandomDatabase(seed, size)
        keeper = SnapshotKeeper(database.server, parse_freshness("strict"), EmptyShelf(), silent())
        made.append(keeper)
        keeper.refresh()
        assert keeper.follows
        return keeper, database

    yield keeper
    for each in made:
        each.close()


def followed(keeper, database, size=3):
    """Commits transactions; returns the next state."""
    database.transact(size)
    return keeper.catch_up(database.server.version_of())


def own(array):
    """A separate copy of the array: materialising it leaves the original unchanged."""
    return Patched(array.form) if isinstance(array, Patched) else array


def seen(graph):
    """Relationships by id, from the rows of both directions; labels by node."""
    nodes, ids = graph.external_ids.nodes, whole(own(graph.external_ids.array))
    found = []
    for way in ("outgoing", "incoming"):
        csr = Csr(
            *(None if each is None else whole(own(each)) for each in getattr(graph, way).parts)
        )
        indexes = csr.relationship_indexes
        rows = zip(
            (ids if indexes is None else ids[indexes]).tolist(),
            nodes[csr.entry_nodes()].tolist(),
            nodes[csr.neighbours].tolist(),
            csr.entry_types().tolist(),
            strict=True,
        )
        found.append({one: (start, end, graph.types.names[kind]) for one, start, end, kind in rows})
    labels = map(frozenset, graph.labels_of(np.arange(graph.node_count)))
    return (*found, dict(zip(nodes.tolist(), labels, strict=True)))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_states_are_right_and_no_query_compacts_an_array(make, rebased, seed):
    keeper, database = make(seed)
    stretches, states = [], []
    for _ in range(30):
        loaded = followed(keeper, database)
        expected = seen(database.graph())
        assert seen(loaded.graph) == expected
        states.append((loaded.graph, expected))
        assert keeper.follower.compactor.wait(SECONDS)
        stretches.append(len(loaded.graph.incoming.parts.neighbours.form.stretches))
    assert any(rebased)
    assert max(stretches) < 60
    # Holders of an older state can still read it.
    for graph, expected in states:
        assert seen(graph) == expected
    assert database.server.count("read") == 1
    assert keeper.follower.compactor.last_error is None


class Gate:
    """Holds the compactor at its check whether to continue."""

    def __init__(self, monkeypatch):
        self.reached, self.open = threading.Event(), threading.Event()
        ask = Compactor._check

        def held(compactor):
            self.reached.set()
            assert self.open.wait(SECONDS)
            ask(compactor)

        monkeypatch.setattr(Compactor, "_check", held)


def worn(keeper, database, gate):
    """Follows the database until compaction begins; returns four further states."""
    for _ in range(100):
        followed(keeper, database)
        if gate.reached.is_set():
            break
    assert gate.reached.wait(SECONDS)
    return [followed(keeper, database).graph for _ in range(4)]


def test_states_made_during_compaction_use_the_compacted_arrays(make, rebased, monkeypatch):
    gate = Gate(monkeypatch)
    keeper, database = make(7)
    *earlier, newest = worn(keeper, database, gate)
    before = len(newest.incoming.parts.neighbours.form.stretches)
    expected = [seen(each) for each in (*earlier, newest)]
    gate.open.set()
    assert keeper.follower.compactor.wait(SECONDS)
    assert any(rebased)
    assert len(newest.incoming.parts.neighbours.form.stretches) < before
    for graph, each in zip((*earlier, newest), expected, strict=True):
        assert seen(graph) == each
    for _ in range(5):
        assert seen(followed(keeper, database).graph) == seen(database.graph())


def test_closing_stops_compaction_and_changes_nothing(make, rebased, monkeypatch):
    gate = Gate(monkeypatch)
    keeper, database = make(8)
    newest = worn(keeper, database, gate)[-1]
    forms = [each.form for each in newest.incoming.parts if isinstance(each, Patched)]
    closing = threading.Thread(target=keeper.close)
    closing.start()
    assert keeper.follower.compactor.stopping.wait(SECONDS)
    gate.open.set()
    closing.join(SECONDS)
    assert not closing.is_alive()
    assert not rebased
    assert forms == [each.form for each in newest.incoming.parts if isinstance(each, Patched)]
    assert keeper.follower.compactor.last_error is None
    assert seen(newest) == seen(database.graph())


@pytest.mark.parametrize("error", [MemoryError("no place"), RuntimeError("a fault")])
def test_an_internal_error_is_logged_and_the_state_stays_right(
    make, rebased, monkeypatch, caplog, error
):
    keeper, database = make(9)
    made = Form.made

    def fails(form, check):
        if threading.current_thread().name == "gpugda-compact":
            raise error
        return made(form, check)

    monkeypatch.setattr(Form, "made", fails)
    for _ in range(100):
        newest = followed(keeper, database).graph
        assert keeper.follower.compactor.wait(SECONDS)
        if keeper.follower.compactor.last_error is not None:
            break
    assert keeper.follower.compactor.last_error is error
    assert not rebased
    assert f"gpugda-compact: {error}" in caplog.text
    assert seen(newest) == seen(database.graph())
    monkeypatch.setattr(Form, "made", made)
    newest = followed(keeper, database).graph  # it is retried
    assert keeper.follower.compactor.wait(SECONDS)
    assert any(rebased)
    assert seen(newest) == seen(database.graph())


def test_no_compaction_beyond_the_memory_limit(make, rebased, monkeypatch, caplog):
    monkeypatch.setenv("GPUGDA_HOST_LIMIT", "1")
    keeper, database = make(10)
    with caplog.at_level(logging.INFO, "gpugda.live.compacting"):
        for _ in range(20):
            newest = followed(keeper, database).graph
            assert keeper.follower.compactor.wait(SECONDS)
    assert "GPUGDA_HOST_LIMIT is 1" in caplog.text
    assert not rebased
    assert seen(newest) == seen(database.graph())


def test_a_branch_is_not_rebased_on_another_one(make):
    """Two states derived from one older state are different branches."""
    keeper, database = make(11)
    graph = followed(keeper, database).graph
    version = database.server.version_of()
    database.transact(3)
    changes = database.changes.changes_since(version)
    one, other = applied(graph, changes), applied(graph, changes)
    expected = seen(database.graph())
    for way, name in (("incoming", "relationship_indexes"), ("outgoing", "neighbours")):
        first, second = (getattr(getattr(each, way).parts, name) for each in (one, other))
        first.whole()
        assert not second.rebase(first)
    assert seen(other) == expected
