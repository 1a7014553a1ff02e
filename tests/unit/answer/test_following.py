"""Queries during writes, on a database that reports its changes."""

import gc
import random
import weakref
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from fake_server import FakeServer, facts, silent
from neo4j._codec.hydration.bolt.v2 import HydrationHandler
from neo4j._codec.packstream import Structure
from random_database import RandomDatabase
from soon import soon

from gpugda.answer.on_graph import answer_by_reference
from gpugda.answer.request import Request
from gpugda.answer.server import ServerAnswers
from gpugda.config import parse_freshness
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf
from gpugda.loading import LoadedGraph
from gpugda.match.registry import DEFAULT_STRATEGY
from gpugda.match.session import DeviceSession
from gpugda.plan.route.route import Verdict
from gpugda.ports import Projection
from strategies import rows_key

pytestmark = pytest.mark.device

NODES = {
    3: (("Person",), {"name": "Ann"}),
    8: (("Person",), {"name": "Bo"}),
    9: (("City",), {"name": "Rome"}),
}
RELATIONSHIPS = {21: (3, 8, "KNOWS", {"since": 1999}), 22: (3, 9, "LIKES", {})}
KNOWS = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN a.name AS a, r.since AS since ORDER BY since"


class FakeRouter:
    """Returns the costs that the test sets, and prefers the device."""

    def __init__(self, device=0.001, native=10.0):
        self.verdict = Verdict("gpu", "the test says so", device, native, "cost")

    def decide(self, request, plan, loaded, keeper):
        return self.verdict

    def record_device(self, request, loaded, seconds):
        pass

    def record_native(self, request, seconds):
        pass


@pytest.fixture
def open_answers():
    opened = []

    def make(router=None, freshness="strict", server=None, tells=True):
        server = server or FakeServer(NODES, RELATIONSHIPS)
        if tells:
            server.tell_changes()
        keeper = SnapshotKeeper(server, parse_freshness(freshness), EmptyShelf(), silent())
        device = DeviceSession(None, None, "once")
        answers = ServerAnswers(server, keeper, device, router or FakeRouter(), silent())
        opened.append((answers, device))
        keeper.refresh()
        device.warm()
        return SimpleNamespace(server=server, keeper=keeper, answers=answers)

    yield make
    for answers, device in opened:
        answers.close()
        device.close()


def ask(opened, text=KNOWS, engine="auto"):
    return opened.answers.run(Request(text, {}, DEFAULT_STRATEGY), engine)


@pytest.fixture
def no_cycles_found():
    """Turns off the garbage collector, so that no object in a reference cycle is freed."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "text",
    [
        KNOWS,
        "MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN count(*) AS n",
        "MATCH (a:Person)-[:KNOWS*1..2]->(b) RETURN count(*) AS n",
        "MATCH (a:Person) OPTIONAL MATCH (a)-[:LIKES]->(c) RETURN a.name AS a, collect(c) AS c",
        "MATCH (a:Person) WHERE EXISTS { (a)-[:LIKES]->() } RETURN a.name AS a",
        "MATCH (a)--(b)--(c)--(d)--(a) RETURN a.name AS a, count(*) AS n",
    ],
)
def test_an_unused_state_is_released_at_once(open_answers, no_cycles_found, text):
    # The next state reuses its arrays, and a state may take gigabytes.
    opened = open_answers()
    ask(opened, text)
    befriend(opened.server, 0)
    assert ask(opened, text).summary.engine == "gpu"
    session = opened.answers._session
    held = [weakref.ref(each) for each in (session._graph, session._host_graph)]
    befriend(opened.server, 1)
    assert ask(opened, text).summary.engine == "gpu"
    # A thread that saves or compacts a state may hold it briefly.
    assert soon(lambda: all(each() is None for each in held))


def befriend(server, number):
    server.commit(
        nodes={100 + number: (("Person",), {"name": f"New {number}"})},
        relationships={1000 + number: (100 + number, 3, "KNOWS", {"since": 3000 + number})},
    )


def test_a_column_with_dates_that_the_driver_cannot_show_is_read_once(open_answers):
    hooks = HydrationHandler().new_hydration_scope().hydration_hooks
    days = [-719_893, 10_957, 2_932_897]  # -0001-01-01, 2000-01-01, +10000-01-01
    sent = [hooks[Structure](Structure(b"D", day)) for day in days]
    people = {number: (("Person",), {"born": value}) for number, value in enumerate(sent)}
    opened = open_answers(server=FakeServer(people))
    early = "MATCH (a:Person) WHERE a.born < date('1900-01-01') RETURN a.born.year AS year"
    late = "MATCH (a:Person) WHERE a.born >= date('+10000-01-01') RETURN toString(a.born) AS text"
    for text, rows in ((early, [[-1]]), (late, [["+10000-01-01"]])) * 2:
        answer = ask(opened, text)
        assert answer.summary.engine == "gpu"
        assert answer.values() == rows
    read = [call for call in opened.server.calls if call[0] == "properties"]
    assert len(read) == len(set(read)) > 0
    assert opened.server.count("native") == 0


@pytest.mark.parametrize("engine", ["auto", "gpu"])
def test_each_answer_is_of_the_newest_transaction_and_from_the_device(open_answers, engine):
    opened = open_answers()
    for number in range(6):
        befriend(opened.server, number)
        result = ask(opened, engine=engine)
        assert result.values()[-1] == [f"New {number}", 3000 + number]
        assert result.summary.engine == "gpu"
        assert f"transaction {opened.server.transaction}" in result.summary.freshness
    assert opened.server.count("read") == 1
    assert opened.server.count("native") == 0
    opened.server.commit(without=[1000, 1005])
    assert len(ask(opened, engine=engine).values()) == 5
    status = opened.answers.status()
    assert status["following"] == "a fake"
    assert status["transactions_applied"] == 7
    assert status["changes_seconds"] > 0
    assert status["advice"] == ""


def make_busy(opened):
    """Makes the database look busy with writes: one request then returns state and changes."""
    for _ in range(3):
        opened.server.commit(nodes={500: ((), {})})
        opened.server.commit(without=[500])
        ask(opened, engine="gpu")
    assert opened.keeper.prefers_changes


@pytest.mark.parametrize("engine", ["auto", "gpu"])
def test_changes_outside_a_querys_needs_are_not_applied(open_answers, engine):
    opened = open_answers()
    make_busy(opened)
    loaded, asked = opened.keeper.loaded, len(opened.server.calls)
    opened.server.commit(nodes={9: (("City",), {"name": "Rome"}), 50: (("City",), {"size": 3})})
    opened.server.commit(relationships={600: (9, 50, "NEAR", {})})
    text = "MATCH (a:Person)-[r:KNOWS]->(b:Person) RETURN r.since"
    result = ask(opened, text, engine)
    assert result.values() == [[1999]]
    assert "nothing that is read changed" in result.summary.freshness
    assert f"transaction {opened.server.transaction} is the newest" in result.summary.freshness
    assert [each[0] for each in opened.server.calls[asked:]] == ["changes"]
    assert opened.keeper.loaded is loaded
    assert opened.keeper.prefers_changes
    opened.server.commit(relationships={21: (3, 8, "KNOWS", {"since": 2001})})
    assert ask(opened, text, engine).values() == [[2001]]
    assert opened.keeper.loaded.version == opened.server.version_of()
    near = "MATCH (a:City)-[:NEAR]->(b:City) RETURN count(*)"
    assert ask(opened, near, engine).values() == [[1]]


@pytest.mark.parametrize("engine", ["auto", "gpu"])
def test_returned_nodes_are_of_the_newest_state(open_answers, engine):
    """Properties of whole nodes are read once the nodes are known: none can be skipped."""
    opened = open_answers()
    make_busy(opened)
    for number in range(3):
        opened.server.commit(relationships={600 + number: (9, 9, "NEAR", {})})
        result = ask(opened, "MATCH (a:Person) RETURN a ORDER BY a.name", engine)
        assert [row[0]["name"] for row in result.values()] == ["Ann", "Bo"]
        assert result.summary.engine == "gpu"
        assert opened.keeper.loaded.version == opened.server.version_of()


def test_unapplied_transactions_are_bounded(open_answers, monkeypatch):
    monkeypatch.setattr("gpugda.live.follower._MAX_UNAPPLIED", 3)
    opened = open_answers()
    make_busy(opened)
    text = "MATCH (a:Person)-[r:KNOWS]->(b:Person) RETURN r.since"
    loaded, states = opened.keeper.loaded, []
    for number in range(9):
        opened.server.commit(nodes={50: (("City",), {"size": number})})
        assert ask(opened, text).values() == [[1999]]
        states.append(opened.keeper.loaded.version.transaction - loaded.version.transaction)
    assert states == [0, 0, 0, 4, 4, 4, 4, 8, 8]


TEXTS = [
    "MATCH (a:A) RETURN id(a)",
    "MATCH (a:B) WHERE a.number > 1 RETURN id(a), a.text",
    "MATCH (a:A)-[r:R]->(b:B) RETURN id(a), id(r), id(b)",
    "MATCH (a:A)-[:S]->(b) RETURN id(a), id(b)",
    "MATCH (a)-[r:R|S]->(b:C) RETURN count(*)",
    "MATCH (a:A|B)-[r:S]-(b:D) RETURN id(a), r.number",
    "MATCH (a:A)-[r]->(b:E {number: 2}) RETURN type(r), b.number",
    "MATCH (a:A) WHERE a:B AND NOT a:C RETURN count(a)",
    "MATCH (a:A:B) WHERE NOT EXISTS { (a)-[:R]->(:C) } RETURN id(a)",
    "MATCH (a:A) OPTIONAL MATCH (a)-[:S]->(b:B) RETURN id(a), count(b)",
    "MATCH p = (a:A)-[:R*1..2]->(b:B) RETURN length(p), count(*)",
    "MATCH (a:C) RETURN labels(a), count(*)",
    "MATCH (a:E) RETURN a {.number, .text}",
    "MATCH ()-[r:S]->() RETURN size(keys(r)), count(*)",
    "MATCH (n) RETURN count(n)",
]


def commit_something(database):
    """A small change of one kind."""
    draw, server = database.draw, database.server
    state, kind = server.state, database.draw.randrange(5)
    node = draw.choice(list(state.nodes))
    labels, properties = state.nodes[node]
    if kind == 0:
        server.commit(nodes={node: (labels, database.properties())})
    elif kind == 1:
        server.commit(nodes={node: (database.node()[0], properties)})
    elif kind == 2:
        server.commit(nodes={max(state.nodes) + 1: database.node()})
    elif kind == 3:
        server.commit(
            relationships={max(state.relationships) + 1: database.relationship(list(state.nodes))}
        )
    else:
        server.commit(without=[draw.choice(list(state.relationships))])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(x, marks=pytest.mark.slow) for x in (1, 2))])
def test_skipped_changes_never_change_an_answer(open_answers, seed):
    database = RandomDatabase(seed, 60)
    opened = open_answers(server=database.server, tells=False)
    draw, left, texts = random.Random(seed), 0, list(TEXTS)
    for turn in range(60):
        commit_something(database)
        if turn < 5:
            ask(opened, "MATCH (n) RETURN count(n)", "gpu")
            continue
        fresh = LoadedGraph(database.graph(), "fresh", 0.0, datetime.now(UTC))
        for of_nodes in (True, False):
            fresh.graph.add_properties({}, None, of_nodes=of_nodes)  # there are no others
        for text in draw.sample(texts, 3):
            result = ask(opened, text, "gpu")
            left += "nothing that is read changed" in result.summary.freshness
            expected = answer_by_reference(Request(text, {}, DEFAULT_STRATEGY), fresh)
            expected = expected.result(Request(text, {}, DEFAULT_STRATEGY)).values()
            assert rows_key(result.values()) == rows_key(expected), text
    assert left > 10


def test_returned_nodes_are_whole_beside_writers(open_answers):
    opened = open_answers()
    text = "MATCH (a:Person) RETURN a ORDER BY a.name"
    for number in range(3):
        befriend(opened.server, number)
        found = [row[0]["name"] for row in ask(opened, text).values()]
        assert found == ["Ann", "Bo", *(f"New {n}" for n in range(number + 1))]
    commits = iter([lambda: befriend(opened.server, 7)])
    opened.server.during_properties = lambda: next(commits, lambda: None)()
    befriend(opened.server, 5)
    result = ask(opened, text)
    assert result.summary.engine == "gpu"
    names = [row[0]["name"] for row in result.values()]
    people = [row for row in opened.server.state.nodes.values() if "Person" in row[0]]
    assert names == sorted(row[1]["name"] for row in people)


def test_changes_are_applied_in_the_background_if_neo4j_is_faster(open_answers):
    opened = open_answers(FakeRouter(device=0.001, native=0.002))
    ask(opened)
    befriend(opened.server, 1)
    result = ask(opened)
    assert result.summary.engine == "native"
    assert "in the background" in result.summary.reason
    assert opened.keeper.wait(30)
    assert opened.keeper.loaded.version == opened.server.version_of()
    # Values that the changes did not include may have to be read first, even in the background.
    engines = []
    while engines[-1:] != ["gpu"] and len(engines) < 10:
        assert opened.keeper.wait(30)
        engines.append(ask(opened).summary.engine)
    assert engines[-1] == "gpu"
    assert opened.server.count("read") == 1


def test_changes_up_to_a_bookmark_are_applied(open_answers):
    opened = open_answers()
    befriend(opened.server, 1)
    bookmark = f"bookmark {opened.server.transaction}"
    opened.keeper._rest_until = 0.0
    assert opened.keeper.wait(30)  # saving what was read: meanwhile no refresh begins
    assert not opened.answers.covers([bookmark])  # this does not wait
    assert opened.keeper.wait(30)
    assert opened.answers.covers([bookmark])
    assert opened.server.count("read") == 1
    assert not opened.answers.covers(["bookmark 999"])


def test_status_advises_how_to_follow_changes(open_answers):
    server = FakeServer(NODES, RELATIONSHIPS, facts=facts(product="Neo4j"))
    status = open_answers(server=server, tells=False).answers.status()
    assert "does not report changes" in status["following"]
    assert "gpugda plugin install" in status["advice"]
    part = FakeServer(NODES, RELATIONSHIPS, projection=Projection(types=("KNOWS",)))
    status = open_answers(server=part).answers.status()
    assert "some labels or types" in status["following"]
