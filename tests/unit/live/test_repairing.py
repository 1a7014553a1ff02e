"""A database under permanent writes is still read, in exactly one of its states."""

import random

import pytest
from fake_server import FakeServer, silent

from gpugda.config import parse_freshness
from gpugda.errors import StaleSnapshotError
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf
from gpugda.ports import ChangeGap

LABELS = ["A", "B", "C"]


class Writer:
    """Commits something at random while the database is read."""

    def __init__(self, seed, server):
        self.draw, self.server = random.Random(seed), server

    def __call__(self):
        if self.draw.random() < 0.4:
            self.draw.choice([self.nodes, self.labels, self.relationships, self.back_and_forth])()

    def node(self):
        return tuple(each for each in LABELS if self.draw.random() < 0.5), {}

    def relationship(self):
        nodes = list(self.server.state.nodes)
        return (*(self.draw.choice(nodes) for _ in range(2)), self.draw.choice("RST"), {})

    def nodes(self):
        """Deletes a node with its relationships, and creates one, possibly with a reused id."""
        state = self.server.state
        if len(state.nodes) > 5:
            self.delete(self.draw.choice(list(state.nodes)))
        free = [each for each in range(100, 140) if each not in self.server.state.nodes]
        self.server.commit(nodes={self.draw.choice([*free, 139]): self.node()})

    def labels(self):
        some = self.draw.sample(list(self.server.state.nodes), 2)
        self.server.commit(nodes={each: self.node() for each in some})

    def relationships(self):
        state = self.server.state
        if state.relationships:
            self.server.commit(without=[self.draw.choice(list(state.relationships))])
        self.server.commit(relationships={self.draw.randrange(60): self.relationship()})

    def back_and_forth(self):
        """Entities that change and then have their old values again."""
        state = self.server.state
        node = self.draw.choice(list(state.nodes))
        self.server.commit(nodes={node: self.node(), 99: self.node()})
        if self.draw.random() < 0.5:
            self.server.commit(nodes={node: state.nodes[node]})
            self.delete(99)

    def delete(self, node):
        rows = self.server.state.relationships.items()
        self.server.commit(without=[node, *(each for each, row in rows if node in row[:2])])


@pytest.fixture
def make():
    made = []

    def keeper(server):
        made.append(SnapshotKeeper(server, parse_freshness("strict"), EmptyShelf(), silent()))
        return made[-1]

    yield keeper
    for each in made:
        each.close()


def database(seed):
    draw = random.Random(seed)
    server = FakeServer({number: (("A",), {}) for number in range(100, 125)}, {})
    server.largest = 140
    writer = Writer(seed, server)
    server.commit(
        nodes={number: writer.node() for number in range(100, 125)},
        relationships={number: writer.relationship() for number in range(draw.randrange(60))},
    )
    return server, writer


def check(loaded, server):
    """Asserts that the snapshot's contents are those of its stated version."""
    state, graph = server.states[loaded.version.transaction], loaded.graph
    ids = graph.external_ids
    found = {number: set(graph.node_labels(node)) for node, number in enumerate(ids.nodes.tolist())}
    assert found == {number: set(row[0]) for number, row in state.nodes.items()}
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    kinds = [graph.types.name(each) for each in graph.relationship_types().tolist()]
    rows = zip(ids.nodes[starts].tolist(), ids.nodes[ends].tolist(), kinds, strict=True)
    found = dict(zip(ids.relationships.tolist(), rows, strict=True))
    assert found == {number: row[:3] for number, row in state.relationships.items()}


@pytest.mark.parametrize("seed", range(25))
def test_a_database_with_constant_writes_is_read(make, seed):
    server, writer = database(seed)
    server.tell_changes()
    server.during_read = writer
    keeper = make(server)
    loaded = keeper.refresh(attempts=3)
    assert server.count("read") <= 2
    check(loaded, server)
    assert loaded.graph.node_count
    # It is followed from there, like any other.
    server.during_read = None
    writer.nodes()
    writer.labels()
    reads = server.count("read")
    check(keeper.refresh(), server)
    assert server.count("read") == reads
    assert keeper.loaded.version.transaction == server.transaction


def test_a_refresh_uses_the_export_torn_before(make):
    server, writer = database(1)
    server.tell_changes()
    server.during_read = writer.labels
    keeper = make(server)
    with pytest.raises(StaleSnapshotError):
        keeper.refresh(attempts=1)
    check(keeper.refresh(attempts=1), server)


def test_without_reported_changes_a_torn_export_is_an_error(make):
    server, _ = database(1)
    server.during_read = lambda: server.commit(nodes={139: (("A",), {})})
    with pytest.raises(StaleSnapshotError, match="changed during each"):
        make(server).refresh(attempts=2)
    assert server.count("read") == 2


def test_a_gap_prevents_a_repair(make):
    server, _ = database(1)
    changes = server.tell_changes()

    def lose():
        server.commit(nodes={139: (("A",), {})})
        changes.gap = ChangeGap("too much was changed")

    server.during_read = lose
    keeper = make(server)
    with pytest.raises(StaleSnapshotError):
        keeper.refresh(attempts=2)
    assert keeper.loaded is None


def test_a_repair_waits_for_transactions_being_committed(make):
    server, writer = database(1)
    changes = server.tell_changes()
    server.during_read = writer.nodes
    changes.known_up_to = server.transaction
    keeper = make(server)
    with pytest.raises(StaleSnapshotError):
        keeper.refresh(attempts=3)
    changes.known_up_to = None
    check(keeper.refresh(attempts=1), server)
