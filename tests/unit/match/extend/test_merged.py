"""Joins with merged lists against the same joins before these lists exist."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from bound_queries import NO_MASKS
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from split_devices import open_split

from gpugda.data.csr import csr_of
from gpugda.data.patches.patched import Patched
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.derived_lists import ListKind
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend import merged_graph
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count, Rows
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.thresholds import JoinLimits, Thresholds
from strategies import multigraphs
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
STEP_BY_STEP = Thresholds(join=JoinLimits(max_at_once=0, listed_rows=0))
TOGETHER = Thresholds()
"""Few rows are joined in one launch of all steps."""
TRIANGLE = "MATCH (a)--(b)--(c)--(a) RETURN count(*)"
UNTYPED = "MATCH (a)-->(b)-->(c)<--(a) RETURN count(*)"
BOTH = ListKind(None, True, True)


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does: others have no merged lists."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


@pytest.fixture
def at_once(monkeypatch):
    """Lists are merged after the first join."""
    monkeypatch.setattr(merged_graph, "_SECONDS", 0.0)
    monkeypatch.setattr(merged_graph, "_SECONDS_PER_ENTRY", 0.0)
    monkeypatch.setattr(merged_graph, "_SECONDS_PER_RUN", 0.0)


def plan_of(text, graph):
    return plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())


def counted(strategy, plan):
    report = StrategyReport()
    return strategy.count(plan, NO_MASKS, report), list(report.steps)


def rows_of(strategy, plan):
    report, nodes = StrategyReport(), frozenset(range(len(plan.bound.nodes)))
    links = frozenset(range(len(plan.bound.relationships)))
    found = []
    for need in (Rows(nodes, frozenset()), Rows(nodes, links)):
        for chunk in strategy.embeddings(plan, NO_MASKS, need, report):
            columns = [chunk.nodes[each].tolist() for each in sorted(chunk.nodes)]
            columns += [chunk.relationships[each].tolist() for each in sorted(chunk.relationships)]
            found += zip(*columns, strict=True)
    return sorted(found)


@st.composite
def patterns(draw):
    count = draw(st.integers(3, 4))
    ends = [(draw(st.integers(0, node - 1)), node) for node in range(1, count)]
    more = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    ends += draw(st.lists(more, min_size=1, max_size=3))
    kinds = ["--", "--", "--", "-->", "<--", "-[:R]-", "-[:R|S]-", "-[:R|S]->", "-[:R]->"]
    kind = st.sampled_from(draw(st.sampled_from([["--"], ["-->", "<--"], kinds])))
    label = draw(st.sampled_from(["", "", "", ":A"]))
    steps = [f"({'abcd'[one]}{label}){draw(kind)}({'abcd'[two]})" for one, two in ends]
    return f"MATCH {', '.join(steps)} RETURN count(*)"


@st.composite
def simple_graphs(draw):
    """Graphs with at most one relationship between two nodes, and possibly self-loops."""
    count = draw(st.integers(3, 7))
    pairs = [(one, other) for other in range(count) for one in range(other)]
    pairs += draw(st.sampled_from([[], [], [(node, node) for node in range(count)]]))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, min_size=3, max_size=21))
    turned = [pair[::-1] if draw(st.booleans()) else pair for pair in chosen]
    types = draw(st.sampled_from(["R", "RS", "RST"]))
    labels = st.sampled_from(["", "A"])
    return (
        [(draw(labels), {}) for _ in range(count)],
        [(start, draw(st.sampled_from(types)), end, {}) for start, end in turned],
    )


@pytest.mark.slow
@pytest.mark.parametrize("decides", [STEP_BY_STEP, TOGETHER], ids=["step by step", "together"])
@given(specs=st.one_of(simple_graphs(), simple_graphs(), multigraphs()), text=patterns())
def test_merged_lists_give_the_same_rows(accelerator, decides, specs, text):
    graph = make_graph(*specs)
    device_graph = DeviceGraph(accelerator, graph)
    plan = plan_of(text, graph)
    before = ExtendStrategy(device_graph, thresholds=STEP_BY_STEP)
    expected, _ = counted(before, plan)
    rows = rows_of(before, plan)
    strategy = ExtendStrategy(device_graph, thresholds=decides)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merged_graph, "_SECONDS", 0.0)
        patch.setattr(merged_graph, "_SECONDS_PER_ENTRY", 0.0)
        for _ in range(3):
            assert counted(strategy, plan)[0] == expected
            assert rows_of(strategy, plan) == rows
    device_graph.close()


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("MATCH (a)-->(b)-[:R]-(a) RETURN count(*)", (1, "S", 0, {})),
        ("MATCH (a)-[:R|S]->(b)<-[:S|T]-(a) RETURN count(*)", (0, "T", 1, {})),
    ],
)
def test_merged_lists_distinguish_relationships_of_other_types(accelerator, at_once, text, other):
    # Each of the two has at most one match, and yet the matches may differ.
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {}), other, (1, "S", 2, {})])
    device_graph = DeviceGraph(accelerator, graph)
    plan, strategy = plan_of(text, graph), ExtendStrategy(device_graph, thresholds=STEP_BY_STEP)
    assert [counted(strategy, plan)[0] for _ in range(3)] == [1, 1, 1]
    device_graph.close()


def ring(count, kinds="R"):
    """Relationships from each node to the next two, of each type in turn."""
    steps = [
        (node, kinds[step % len(kinds)], (node + step) % count, {})
        for node in range(count)
        for step in (1, 2)
    ]
    return make_graph([("", {})] * count, steps)


@pytest.mark.parametrize(
    ("kinds", "text"), [("R", TRIANGLE), ("RS", TRIANGLE), ("RS", UNTYPED)], ids=str
)
def test_lists_are_merged_if_that_pays(accelerator, at_once, kinds, text):
    graph = ring(40, kinds)
    strategy = ExtendStrategy(DeviceGraph(accelerator, graph), thresholds=STEP_BY_STEP)
    plan = plan_of(text, graph)
    first, steps = counted(strategy, plan)
    assert not any("merged" in each for each in steps)
    again, steps = counted(strategy, plan)
    assert first == again > 0
    assert sum("in merged lists" in each for each in steps) >= 1
    assert strategy.cached_bytes() > 0


def test_lists_are_not_merged_before_that_pays(accelerator):
    graph = ring(40)
    strategy = ExtendStrategy(DeviceGraph(accelerator, graph), thresholds=STEP_BY_STEP)
    plan = plan_of(TRIANGLE, graph)
    strategy._merged.note([BOTH], 0.9e-3)
    counted(strategy, plan)
    assert not strategy._merged.lists or strategy._merged.version == 1
    strategy._merged.note([BOTH], 1.0)
    counted(strategy, plan)
    assert BOTH in strategy._merged.lists


def test_what_is_done_before_a_join_does_not_make_lists_due(accelerator, monkeypatch):
    monkeypatch.setattr(merged_graph, "_SECONDS", 60.0)
    strategy = ExtendStrategy(DeviceGraph(accelerator, ring(40)), thresholds=STEP_BY_STEP)
    plan = plan_of(TRIANGLE, strategy.graph.graph)
    find, clock = strategy._query, accelerator.clock
    waited = []

    def slow(*given, **named):
        waited.append(100.0)
        return find(*given, **named)

    monkeypatch.setattr(strategy, "_query", slow)
    monkeypatch.setattr(accelerator, "clock", lambda: clock() + sum(waited))
    for _ in range(2):
        counted(strategy, plan)
    assert len(waited) == 2
    assert not strategy._merged.lists


def test_graphs_of_many_runs_take_longer_to_merge(accelerator):
    def expected(kinds):
        strategy = ExtendStrategy(DeviceGraph(accelerator, ring(40, kinds)))
        with strategy.running(StrategyReport(), None) as run:
            return merged_graph._expected_seconds(run, BOTH)

    one, two = expected("R"), expected("RS")
    assert two - one == pytest.approx(2 * 40 * merged_graph._SECONDS_PER_RUN)


def test_expecting_the_time_to_merge_makes_no_patched_graph_whole():
    graph = ring(40, "RS")
    patched = []
    for csr in (graph.outgoing, graph.incoming):
        types = Patched.of(csr.run_types)
        patched.append(csr_of(csr.parts._replace(run_types=types)))
    live = SimpleNamespace(
        outgoing=patched[0], incoming=patched[1], node_count=40, relationship_count=80
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(patched[0]), "run_types", None)
        run = SimpleNamespace(graph=SimpleNamespace(graph=live))
        found = merged_graph._expected_seconds(run, BOTH)
    assert found > merged_graph._SECONDS


def test_freed_merged_lists_are_not_made_again(accelerator, at_once):
    graph = ring(40)
    strategy = ExtendStrategy(DeviceGraph(accelerator, graph), thresholds=STEP_BY_STEP)
    plan = plan_of(TRIANGLE, graph)
    found = [counted(strategy, plan)[0] for _ in range(2)]
    assert strategy._merged.nbytes > 0
    assert strategy.drop_cached() > 0
    assert strategy._merged.nbytes == 0
    for _ in range(3):
        again, steps = counted(strategy, plan)
        found.append(again)
        assert not any("merged" in each for each in steps)
    assert len(set(found)) == 1


def test_merging_stops_if_memory_runs_out(accelerator, at_once, monkeypatch):
    graph = ring(40)
    strategy = ExtendStrategy(DeviceGraph(accelerator, graph), thresholds=STEP_BY_STEP)
    plan = plan_of(TRIANGLE, graph)
    make = merged_graph._merged

    def short_of_memory(run, kind):
        strategy._merged._lists[ListKind((0,), True, True)] = make(run, kind)
        assert strategy.drop_cached() > 0
        return make(run, kind)

    monkeypatch.setattr(merged_graph, "_merged", short_of_memory)
    found = []
    worker = threading.Thread(
        target=lambda: found.extend(counted(strategy, plan)[0] for _ in range(3)), daemon=True
    )
    worker.start()
    worker.join(timeout=120)
    assert not worker.is_alive()
    assert len(found) == 3
    assert len(set(found)) == 1
    assert not strategy._merged.lists


def test_lists_are_not_merged_without_memory(accelerator, at_once):
    graph = ring(4000)
    device_graph = DeviceGraph(accelerator, graph)
    plan = plan_of(TRIANGLE, graph)
    expected, _ = counted(ExtendStrategy(device_graph), plan)
    strategy = ExtendStrategy(device_graph, thresholds=STEP_BY_STEP)
    strategy.limit = device_graph.nbytes + 150_000
    for _ in range(3):
        again, steps = counted(strategy, plan)
        assert again == expected
        assert not any("merged" in each for each in steps)
    assert not strategy._merged.lists
