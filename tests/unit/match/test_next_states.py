"""Decisions for an earlier snapshot are reused for the next one, without changing any answer."""

import itertools
import random
import threading
from datetime import UTC, datetime

import pytest
from fake_server import FakeServer, _batches
from forced_plans import DEGREES, PARTS, ROWS, TABLES, thresholds
from random_database import VERSION

from gpugda.data.build import build_data_graph
from gpugda.data.increments.apply import applied
from gpugda.data.plan_assumptions import assumptions_hold
from gpugda.data.values.columns import to_values
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.directory import arrays_of, numbers_of
from gpugda.device.graph.lazy_arguments import LazyArguments
from gpugda.device.launch.candidate_filter import FilterArrays
from gpugda.device.memory.buffers import MemoryBudget
from gpugda.execute.pipeline import plan_of
from gpugda.loading import LoadedGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.cache import EarlierPlans
from gpugda.match.extend.earlier_candidates import update_candidates
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.session import DeviceSession
from gpugda.query.parser import tree_of
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference

pytestmark = pytest.mark.device

TEXTS = (
    "MATCH (a:A)-[:R]->(b) WHERE a.x < 2 RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:R]->(c) WHERE a.x < 2 RETURN count(*)",
    # Like leaves, and like nodes, if their masks are equal.
    "MATCH (a)-[:R]->(b), (a)-[:R]->(c) WHERE b.x < 2 AND c.y < 2 RETURN count(*)",
    "MATCH (a)-[:R]->(b)<-[:R]-(c), (a)-[:R]->(d)<-[:R]-(c) WHERE b.x = 1 AND d.y = 1 "
    "RETURN count(*)",
    "MATCH (a:A)--(b:B)--(c) RETURN count(*)",
    "MATCH (a:A)-->(b)-->(c:B) RETURN count(*)",
    "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(a) RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:S]->(c)-[:R]->(d) RETURN b.x AS x, count(*) AS n",
    "MATCH (a)-[:R|S]->(b)-[:S]->(c), (b)-[:R]->(d) WHERE d.x > 0 RETURN count(*)",
    "MATCH (a)-[:R]->(b), (c)-[:R]->(d) WHERE a.x = 0 AND c <> a RETURN count(*)",
)
STAR = "MATCH (a:A)<-[:R]-(b)-[:R]->(c) WHERE a.x < 2 AND c.y < 2 RETURN count(*)"
FORMS = {"as it is": {}, "degrees": DEGREES, "rows": ROWS, "tables": TABLES, "parts": PARTS}
EXPLORED = "explored"


class SmallDatabase:
    """A few nodes without self-loops, parallel relationships or nodes with both labels at first."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.server = FakeServer(
            {n: (["AB"[n % 2]], {"x": n % 3, "y": n % 3}) for n in range(9)}, {}
        )
        self.changes = self.server.tell_changes()
        self.changes.follow(["x", "y"], [])
        pairs = {(a, (a * step + 1) % 9) for a in range(9) for step in (2, 4)}
        rows = [(a, b, "RS"[n % 3 == 0], {}) for n, (a, b) in enumerate(sorted(pairs)) if a != b]
        self.server.commit(relationships=dict(enumerate(rows, 100)))

    def graph(self):
        graph = build_data_graph(_batches(self.server.state, VERSION, complete=False))
        keys = ["x", "y"]
        columns = self.server.read_properties(
            keys, graph.external_ids.of(True), VERSION, of_nodes=True
        )
        graph.add_properties(columns, keys, of_nodes=True)
        return graph

    def transact(self):
        draw, state = self.draw, self.server.state
        nodes = sorted(state.nodes)
        free, tie = max(nodes) + 1, max(state.relationships, default=99) + 1
        what = draw.randrange(12)
        one, other = draw.choice(nodes), draw.choice(nodes)
        row = state.nodes[one]
        if what < 4:
            kind = draw.choice("RS")
            self.server.commit(relationships={tie: (one, other, kind, {})})
        elif what < 6 and state.relationships:
            self.server.commit(without={draw.choice(sorted(state.relationships))})
        elif what < 8:
            values = {"x": draw.randrange(3), "y": draw.randrange(3)}
            self.server.commit(nodes={one: (row[0], values)})
        elif what < 9:
            self.server.commit(nodes={one: (draw.choice([["A"], ["B"], ["A", "B"]]), row[1])})
        elif what < 10 and state.relationships:
            _, there = draw.choice(sorted(state.relationships.items()))
            self.server.commit(relationships={tie: there})  # a parallel one
        else:
            self.server.commit(
                nodes={free: (["A"], {"x": 1, "y": 1})},
                relationships={tie: (one, free, "R", {}), tie + 1: (free, other, "S", {})},
            )

    def states(self, count):
        graph, version = self.graph(), self.server.version_of()
        yield graph
        for _ in range(count):
            self.transact()
            changes = self.changes.changes_since(version)
            graph, version = applied(graph, changes), changes.version
            yield graph


def rows_by_device(text, graph, strategy, plan=None):
    plan = plan or plan_of(prepare(text), graph, "extend")
    table = plan.pipeline.run(graph, strategy, {}, StrategyReport(), None)
    return sorted(zip(*map(to_values, table.columns), strict=True), key=repr)


def expected(text, graph):
    return sorted(map(tuple, run_reference(tree_of(text), graph, {}).rows), key=repr)


_EXPECTED = {}


def expected_of(text, graph, *state):
    """The expected answer for a snapshot; cached, because each form and each device needs it."""
    if (text, state) not in _EXPECTED:
        _EXPECTED[text, state] = expected(text, graph)
    return _EXPECTED[text, state]


@pytest.fixture
def used(monkeypatch):
    """Plans that came from an earlier snapshot."""
    found = []
    use = EarlierPlans.apply

    def spy(self, query):
        use(self, query)
        found.extend(query.plans.values())

    monkeypatch.setattr(EarlierPlans, "apply", spy)
    return found


@pytest.fixture
def changed(monkeypatch):
    """Candidates that were derived from an earlier snapshot's."""
    found = []

    def spy(*arguments):
        known = update_candidates(*arguments)
        found.extend([] if known is None else [known])
        return known

    monkeypatch.setattr("gpugda.match.extend.filter.update_candidates", spy)
    return found


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("form", [*FORMS, EXPLORED])
def test_every_state_equals_the_reference(context, used, changed, monkeypatch, form, seed):
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._MIN_LOOKS", 0)
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._SHARE_OF_NODES", 0.0)
    monkeypatch.setattr("gpugda.device.graph.node_bitmaps._FEW_CHANGED", 0)
    candidates = {"explores": True} if form == EXPLORED else {}
    decides = thresholds(context, FORMS.get(form, {}), candidates=candidates)
    before, copy, loaded, bound = None, None, None, {}
    for number, graph in enumerate(SmallDatabase(seed).states(8)):
        if loaded is None:
            loaded = LoadedGraph(graph, "test", 0.0, datetime.now(UTC), VERSION)
        else:
            loaded = loaded.followed_by(graph, VERSION, 1)
        following = DeviceGraph(context, graph, like=copy)
        strategy = ExtendStrategy(following, thresholds=decides)
        if before is not None:
            strategy.reuse_decisions(before.decisions_for(graph))
            before.drop_second_graph()
            copy.close()
        for text in TEXTS:
            wanted = expected_of(text, graph, seed, number)
            plan = loaded.plan(prepare(text), "extend")
            assert rows_by_device(text, graph, strategy, plan) == wanted, text
            bound.setdefault(text, []).append(plan.pattern.bound)
        before, copy = strategy, following
    copy.close()
    assert used  # otherwise nothing was tested
    assert all(len(set(map(id, each))) < len(each) for each in bound.values())
    assert len(changed) > 5


def test_masks_that_happened_to_be_equal_are_compared_again(context, used):
    """Their nodes were like nodes then, which they are not in the next snapshot."""
    database = SmallDatabase(1)
    graph = database.graph()
    text = TEXTS[2]
    first = ExtendStrategy(DeviceGraph(context, graph), thresholds=thresholds(context, DEGREES))
    assert rows_by_device(text, graph, first) == expected(text, graph)
    labels, _ = database.server.state.nodes[3]
    version = database.server.version_of()
    database.server.commit(nodes={3: (labels, {"x": 0, "y": 2})})
    following = applied(graph, database.changes.changes_since(version))
    second = ExtendStrategy(
        DeviceGraph(context, following, like=first.graph), thresholds=thresholds(context, DEGREES)
    )
    second.reuse_decisions(first.decisions_for(following))
    assert rows_by_device(text, following, second) == expected(text, following)
    assert not used
    for each in (first, second):
        each.graph.close()


def test_candidates_of_the_most_recent_queries_are_kept(context, monkeypatch):
    graph = SmallDatabase(1).graph()
    copy = DeviceGraph(context, graph)
    first, second = ExtendStrategy(copy), ExtendStrategy(copy)
    second.reuse_decisions(first.decisions_for(graph))
    for text in TEXTS[:4]:
        rows_by_device(text, graph, second)
    kept = [query.on_host is not None for query in second._kept.all()]
    assert all(kept[-2:])
    monkeypatch.setattr("gpugda.match.extend.cache._MAX_CANDIDATES", 2)
    plans, _ = second.decisions_for(graph)
    there = [each.candidates is not None for each in plans._decided.values()]
    assert there[-2:] == [True, True]
    assert not any(there[:-2])
    assert len(there) > 2
    copy.close()


def test_arrays_are_made_only_for_queries_that_read_them(context):
    """They are then there for the next query, which reads others with the same candidates."""
    database = SmallDatabase(1)
    graph, version = database.graph(), database.server.version_of()
    first = ExtendStrategy(DeviceGraph(context, graph))
    counts = "MATCH (a:A)-[:R]->(b) WHERE a.x < 2 RETURN count(*)"
    numbers = "MATCH (a:A)-[r:R]->(b) WHERE a.x < 2 RETURN b.x, id(r)"
    for text in (counts, numbers, TEXTS[1]):
        assert rows_by_device(text, graph, first) == expected(text, graph)
    for pair in ((0, 4), (3, 8), (8, 3)):
        number = max(database.server.state.relationships) + 1
        database.server.commit(relationships={number: (*pair, "R", {})})
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
        copy = DeviceGraph(context, graph, like=first.graph)
        second = ExtendStrategy(copy)
        second.reuse_decisions(first.decisions_for(graph))
        first.graph.close()
        for text in (counts, numbers, TEXTS[1], counts):
            assert rows_by_device(text, graph, second) == expected(text, graph), text
        first = second
    first.graph.close()


def test_leaves_that_share_relationships_are_counted_from_the_rows_of_one_direction(context):
    if context.profile.intersection != "marks":
        pytest.skip("all arrays are made where lists are intersected")
    database = SmallDatabase(1)
    graph, version = database.graph(), database.server.version_of()
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=thresholds(context, DEGREES))
    for value in (2, 1, 0):
        assert rows_by_device(STAR, graph, strategy) == expected(STAR, graph)
        database.server.commit(nodes={0: (["A"], {"x": value, "y": value})})
        changes = database.changes.changes_since(version)
        graph, version = applied(graph, changes), changes.version
        before, copy = strategy, DeviceGraph(context, graph)
        strategy = ExtendStrategy(copy, thresholds=thresholds(context, DEGREES))
        strategy.reuse_decisions(before.decisions_for(graph))
        before.graph.close()
    assert rows_by_device(STAR, graph, strategy) == expected(STAR, graph)
    assert {name for name, _ in copy._csrs} == {"outgoing"}
    copy.close()


@pytest.mark.parametrize("late", [False, True])
def test_only_needed_kernel_arguments_are_made(context, late):
    graph = SmallDatabase(1).graph()
    copy, budget = DeviceGraph(context, graph), MemoryBudget(1 << 40)
    everything = copy.csr_arguments(budget)
    if late:
        copy.close()
        copy = DeviceGraph(context, graph)
        everything = LazyArguments(copy, budget)
    arrays = FilterArrays(everything, None, None, None, None, 1, 1, graph.node_count)
    for outgoing, incoming, numbers, lengths in itertools.product((False, True), repeat=4):
        some = arrays.reading(
            outgoing=outgoing, incoming=incoming, numbers=numbers, lengths=lengths
        ).graph
        there = [each is not None for each in some]
        for number, looked_at in enumerate((outgoing, incoming)):
            entries, *rows = there[arrays_of(number)]
            assert rows == [looked_at or not late] * 3
            assert entries == ((looked_at and not lengths) or not late)
        assert there[numbers_of(1)] == ((incoming and numbers and not lengths) or not late)
    assert [each is None for each in arrays.graph] == [
        each is None for each in copy.csr_arguments(budget)
    ]
    copy.close()


@pytest.mark.parametrize(
    ("nodes", "relationships", "keeps"),
    [
        ({0: (["A"], {"x": 2, "y": 2})}, {}, True),
        ({}, {500: (0, 0, "R", {})}, False),  # the first self-loop
        ({}, {500: (0, 1, "R", {}), 501: (0, 1, "R", {})}, False),  # the first parallel ones
        ({0: (["A", "B"], {"x": 0, "y": 0})}, {}, False),  # the first node with both labels
        ({0: (["C"], {"x": 0, "y": 0})}, {}, False),
        ({}, {500 + n: (0, n, "S", {}) for n in range(1, 9)}, False),  # the largest degree
    ],
)
def test_assumptions_of_a_plan_are_checked_for_the_next_state(nodes, relationships, keeps):
    database = SmallDatabase(1)
    graph, version = database.graph(), database.server.version_of()
    assert graph.labels_disjoint(0, 1)
    database.server.commit(nodes=nodes, relationships=relationships)
    following = applied(graph, database.changes.changes_since(version))
    assert assumptions_hold(graph, following) == keeps
    assert assumptions_hold(graph, graph)


def test_decisions_of_an_unused_state_are_dropped():
    """They were compared with that snapshot alone, and the one after it has the first self-loop."""
    database, session = SmallDatabase(1), DeviceSession(None, None, "once")
    graph, version = database.graph(), database.server.version_of()
    with session.strategy("extend", graph) as strategy:
        assert [rows_by_device(each, graph, strategy) for each in TEXTS]
    for changes in (
        {"nodes": {0: (["A"], {"x": 2, "y": 2})}},
        {"relationships": {500: (0, 0, "R", {}), 501: (0, 1, "R", {}), 502: (1, 0, "R", {})}},
    ):
        with session.strategy("gsi", graph):
            database.server.commit(**changes)
        changed = database.changes.changes_since(version)
        graph, version = applied(graph, changed), changed.version
    with session.strategy("extend", graph) as strategy:
        for text in TEXTS:
            assert rows_by_device(text, graph, strategy) == expected(text, graph), text
    session.close()


def test_steps_compiled_later_by_an_earlier_state_are_not_reused(context):
    """The facts each takes for certain were not compared with the other snapshot's."""
    database = SmallDatabase(1)
    graph, version = database.graph(), database.server.version_of()
    first, last = TEXTS[1], TEXTS[4]
    database.server.commit(nodes={0: (["A"], {"x": 2, "y": 2})})
    following = applied(graph, database.changes.changes_since(version))
    copies = DeviceGraph(context, graph), DeviceGraph(context, following)
    before, after = (ExtendStrategy(each, thresholds=thresholds(context, ROWS)) for each in copies)
    assert rows_by_device(first, graph, before) == expected(first, graph)
    after.reuse_decisions(before.decisions_for(following))
    begun = after._compiled.kept_forms()
    assert begun
    assert rows_by_device(last, graph, before) == expected(last, graph)
    assert before._compiled.kept_forms().keys() > begun.keys()
    assert after._compiled.kept_forms() == begun
    for each in copies:
        each.close()


def two_states():
    """A small graph and its next state."""
    database = SmallDatabase(1)
    graph, version = database.graph(), database.server.version_of()
    database.server.commit(relationships={500: (0, 4, "R", {}), 501: (4, 8, "S", {})})
    return graph, applied(graph, database.changes.changes_since(version))


@pytest.mark.parametrize("name", ["extend", "gsi"])
def test_a_query_goes_on_after_another_asked_for_the_next_state(name):
    graph, following = two_states()
    session = DeviceSession(None, None, "once")
    with session.strategy(name, graph) as strategy:
        with session.strategy(name, following) as second:
            assert rows_by_device(TEXTS[1], following, second) == expected(TEXTS[1], following)
        for text in TEXTS:  # several launches and searches, each of which uses the graph anew
            assert rows_by_device(text, graph, strategy) == expected(text, graph), text
    assert strategy.graph.nbytes == 0
    session.close()


def test_threads_may_query_two_states_at_once():
    states = two_states()
    session, wrong = DeviceSession(None, None, "once"), []

    def ask(start):
        try:
            for turn in range(30):
                graph, text = states[(start + turn) % 2], TEXTS[turn % len(TEXTS)]
                with session.strategy("extend", graph) as strategy:
                    found = rows_by_device(text, graph, strategy)
                if found != expected_of(text, graph, "two states", (start + turn) % 2):
                    wrong.append(text)
        except Exception as error:
            wrong.append(repr(error))

    threads = [threading.Thread(target=ask, args=(start,)) for start in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(300)
        assert not each.is_alive()
    assert not wrong, wrong[:3]
    session.close()
