"""The thesis' pipeline against trying every assignment."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bound_cases import cases
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    checked,
    count,
    everything,
    found_by,
    make_plan,
    projected,
    smallest_limit,
    with_no_rows,
)
from graphs import dense_graph, design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.program import Kernel
from gpugda.errors import ConfigurationError, MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.gpsm.strategy import GpsmStrategy
from gpugda.match.need import Rows
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

R, S = 0, 1
NOTHING = Rows(frozenset(), frozenset())


def strategy_for(context, graph, **settings):
    return GpsmStrategy(DeviceGraph(context, graph), **settings)


def check(context, graph, plan, masks=NO_MASKS, **settings):
    return checked(strategy_for(context, graph, **settings), graph, plan, masks)


# ------------------------------------------------------------------ measured on Neo4j
UNDIRECTED_R = {"types": (R,), "directed": False}
FIGURES = {
    "(a)-[:R]-(b),(b)-[:R]-(a)": (
        12,
        [Relationship(0, 1, **UNDIRECTED_R), Relationship(1, 0, **UNDIRECTED_R)],
    ),
    "(a)--(b)--(c)": (32, [Relationship(0, 1, directed=False), Relationship(1, 2, directed=False)]),
    "three undirected between a and b": (
        24,
        [
            Relationship(0, 1, **UNDIRECTED_R),
            Relationship(0, 1, **UNDIRECTED_R),
            Relationship(0, 1, directed=False),
        ],
    ),
    "two clauses": (6, [Relationship(0, 1, (R,)), Relationship(0, 1, (R,), clause=1)]),
    "a loop": (1, [Relationship(0, 0, (R,))]),
    "an undirected loop": (1, [Relationship(0, 0, directed=False)]),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_measured_on_neo4j(context, name):
    rows, relationships = FIGURES[name]
    nodes = [Node()] * (1 + max(max(each.source, each.target) for each in relationships))
    assert check(context, design_graph(), make_plan(nodes, relationships)) == rows


@pytest.mark.parametrize("k", [1, 2, 5])
def test_two_over_k_parallel_relationships(context, k):
    graph = make_graph([("", {}), ("", {})], [(0, "R", 1, {})] * k)
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0,))])
    assert check(context, graph, plan) == k * (k - 1)


def test_star_of_like_leaves_is_a_falling_factorial(context):
    graph = make_graph([("", {})] * 6, [(0, "R", leaf, {}) for leaf in range(1, 6)])
    plan = make_plan([Node()] * 4, [Relationship(0, leaf, (0,)) for leaf in (1, 2, 3)])
    assert check(context, graph, plan) == 5 * 4 * 3


def test_types_that_overlap_give_a_permanent(context):
    graph = make_graph([("", {})] * 2, [(0, "R", 1, {})] * 2 + [(0, "S", 1, {})])
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0, 1))])
    assert check(context, graph, plan) == 4


# ------------------------------------------------------------------ parts that can be missing
def test_empty_graph(context):
    graph = make_graph([])
    assert check(context, graph, make_plan([Node()])) == 0
    assert check(context, graph, make_plan([Node(), Node()], [Relationship(0, 1)])) == 0


def test_graph_without_relationships(context):
    graph = make_graph([("A", {})] * 33)
    assert check(context, graph, make_plan([Node(), Node()], [Relationship(0, 1)])) == 0
    assert check(context, graph, make_plan([Node()])) == 33


def test_no_rows(context):
    graph = design_graph()
    assert check(context, graph, with_no_rows(make_plan([Node()]))) == 0


def test_no_nodes_are_one_row(context):
    strategy = strategy_for(context, design_graph())
    assert found_by(strategy, make_plan([])) == {((), ()): 1}
    assert count(strategy, make_plan([])) == 1


def test_products_and_their_tests(context):
    graph = make_graph([("A", {})] * 5 + [("B", {})] * 3, [(0, "R", 5, {}), (1, "R", 1, {})])
    a, b = Node(((LabelOp.LABEL, 0),)), Node(((LabelOp.LABEL, 1),))
    assert check(context, graph, make_plan([a, b, a])) == 75
    assert check(context, graph, make_plan([a, a], tests=[RowTest(True, 0, 1, True)])) == 5
    assert check(context, graph, make_plan([a, a], tests=[RowTest(True, 0, 1, False)])) == 20
    assert check(context, graph, make_plan([a, b], tests=[RowTest(True, 0, 1, True)])) == 0
    assert check(context, graph, make_plan([a, b, a], [Relationship(0, 1)])) == 5
    two = [Relationship(0, 1), Relationship(2, 3)]
    assert check(context, graph, make_plan([Node()] * 4, two)) == 2


def test_start_with_a_test_on_its_ends(context):
    plan = make_plan([Node(), Node()], [Relationship(0, 1)], [RowTest(True, 0, 1, False)])
    assert check(context, design_graph(), plan) == 4
    plan = make_plan([Node(), Node()], [Relationship(0, 1)], [RowTest(True, 0, 1, True)])
    assert check(context, design_graph(), plan) == 1


def test_a_relationship_bound_again(context):
    tests = [RowTest(False, 0, 1, True)]
    relationships = [Relationship(0, 1), Relationship(2, 3, clause=1)]
    assert check(context, design_graph(), make_plan([Node()] * 4, relationships, tests)) == 5


def test_dozens_of_tests(context):
    count_of_nodes = 8
    tests = [
        RowTest(True, a, b, False)
        for a in range(count_of_nodes)
        for b in range(a)
        if (a, b) != (7, 0)
    ]
    ring = [(at, "R", (at + 1) % 7, {}) for at in range(7)]
    graph = make_graph([("", {})] * 7, ring)
    path = [Relationship(at, at + 1) for at in range(7)]
    # Eight nodes over seven: only the first and the last may be one.
    assert check(context, graph, make_plan([Node()] * 8, path, tests)) == 7


def test_deep_label_program_is_evaluated_on_the_host(context):
    graph = make_graph([("A", {}), ("B", {}), ("", {}), ("A:B", {})])
    some = (LabelOp.LABEL, 0)
    program = (*[some] * 20, *[(LabelOp.AND, 0)] * 19)
    assert check(context, graph, make_plan([Node(program)])) == 2
    mask = Masks({0: np.array([0b1001], dtype=np.uint32)}, {})
    assert check(context, graph, make_plan([Node((*program, (LabelOp.NOT, 0)))]), mask) == 0


@pytest.mark.parametrize("nodes", [1, 31, 32, 33, 64, 255, 256, 257, 1025])
def test_sizes_at_the_borders(context, nodes):
    ring = [(at, "R", (at + 1) % nodes, {}) for at in range(nodes)]
    graph = make_graph([("", {})] * nodes, ring)
    strategy = strategy_for(context, graph)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    expected = {
        ((at, (at + 1) % nodes, (at + 2) % nodes), (at, (at + 1) % nodes)) for at in range(nodes)
    }
    rows = found_by(strategy, plan)
    assert set(rows) == (expected if nodes > 1 else set())
    assert count(strategy, plan) == rows.total() == (nodes if nodes > 1 else 0)


# ------------------------------------------------------------------ anything
@given(case=cases(), refinement=st.sampled_from(["off", "once", "fixpoint"]))
def test_any_query_on_any_graph(context, case, refinement):
    graph, plan, masks, wanted = case
    strategy = strategy_for(context, graph, refinement=refinement)
    expected = all_embeddings(graph, plan, masks)
    assert found_by(strategy, plan, masks, wanted) == projected(expected, wanted)
    assert count(strategy, plan, masks) == expected.total()


@given(case=cases())
def test_any_query_with_hardly_any_memory(context, case):
    graph, plan, masks, wanted = case
    expected = projected(all_embeddings(graph, plan, masks), wanted)
    roomy = strategy_for(context, graph)
    assert found_by(roomy, plan, masks, wanted) == expected
    tight = tight_strategy(roomy._graph, plan, masks)
    try:
        rows = found_by(tight, plan, masks, wanted)
    except MemoryLimitError:
        return
    assert rows == expected


def tight_strategy(device_graph, plan, masks):
    """One that has a few hundred bytes more than its first two stages need."""

    def run(limit):
        count(GpsmStrategy(device_graph, memory_limit=limit), plan, masks)

    return GpsmStrategy(device_graph, memory_limit=smallest_limit(run) + 256)


# ------------------------------------------------------------------ windows, memory, time
@pytest.mark.parametrize("window", [1, 2, 3, 7, 100])
def test_windows_of_a_few_rows(context, monkeypatch, window):
    monkeypatch.setattr("gpugda.match.gpsm.join._FIRST_WINDOW", window)
    monkeypatch.setattr("gpugda.match.gpsm.join._LARGEST_WINDOW", window)
    monkeypatch.setattr("gpugda.match.gpsm.join._LARGEST_LAST_WINDOW", window)
    graph = dense_graph(5)
    plan = make_plan(
        [Node()] * 4,
        [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0)],
        [RowTest(True, 0, 3, False)],
    )
    strategy = strategy_for(context, graph)
    report = StrategyReport()
    chunks = list(strategy.embeddings(plan, NO_MASKS, everything(plan), report))
    expected = all_embeddings(graph, plan)
    assert sum(chunk.row_count for chunk in chunks) == expected.total()
    assert max(chunk.row_count for chunk in chunks) <= window
    assert found_by(strategy, plan) == expected
    assert count(strategy, plan) == expected.total()
    assert len(report.steps) == 5


def test_memory_limit_gives_the_same_rows_and_is_kept(context):
    graph = dense_graph(12)
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    strategy = strategy_for(context, graph)
    expected = found_by(strategy, plan)
    assert expected.total() == 12 * 12 * 12 - 12
    tight = tight_strategy(strategy._graph, plan, NO_MASKS)
    report = StrategyReport()
    assert sum(1 for _ in tight.embeddings(plan, NO_MASKS, everything(plan), report)) > 3
    assert found_by(tight, plan) == expected
    with pytest.raises(MemoryLimitError, match="memory limit"):
        found_by(GpsmStrategy(strategy._graph, memory_limit=3000), plan)


def test_chunks_are_made_when_asked_for(context, monkeypatch):
    monkeypatch.setattr("gpugda.match.gpsm.join._FIRST_WINDOW", 4)
    monkeypatch.setattr("gpugda.match.gpsm.join._LARGEST_LAST_WINDOW", 4)
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    report = StrategyReport()
    chunks = strategy.embeddings(plan, NO_MASKS, everything(plan), report)
    assert next(chunks).row_count == 4
    assert next(chunks).row_count == 4
    chunks.close()
    assert report.steps[1].endswith("8 rows in 2 chunks")
    assert found_by(strategy, plan).total() == 6**3 - 6


def test_deadline(context):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    late = time.monotonic() - 1
    with pytest.raises(QueryTimeoutError):
        strategy.count(plan, NO_MASKS, StrategyReport(), deadline=late)
    with pytest.raises(QueryTimeoutError):
        list(strategy.embeddings(plan, NO_MASKS, NOTHING, StrategyReport(), deadline=late))
    early = time.monotonic() + 60
    assert strategy.count(plan, NO_MASKS, StrategyReport(), deadline=early) == 210


def test_counts_past_32_bits(context):
    plan = make_plan([Node()] * 5)
    graph = make_graph([("", {})] * 100)
    assert count(strategy_for(context, graph), plan) == 100**5
    hubs = make_graph([("", {})] * 3, [(0, "R", 1, {})] * 70 + [(1, "R", 2, {})] * 70)
    relationships = [Relationship(0, 1, (0,), clause=at) for at in range(6)]
    assert count(strategy_for(context, hubs), make_plan([Node()] * 2, relationships[:3])) == (
        2 * 70**3
    )


def test_report(context):
    strategy = strategy_for(context, design_graph())
    plan = make_plan([Node()] * 3, [Relationship(0, 1, (R,)), Relationship(1, 2, (R,))])
    report = StrategyReport()
    rows = sum(each.row_count for each in strategy.embeddings(plan, NO_MASKS, NOTHING, report))
    assert set(report.timings) == {"filter", "relationships", "join", "fetch"}
    assert report.candidates.keys() == {0, 1, 2}
    assert report.candidate_relationships == {0: 4, 1: 4}
    assert report.steps == [
        "relationships (n0)-[r0:R]->(n1): 4 rows",
        f"combine (n1)-[r1:R]->(n2) with 1 test: {rows} rows",
    ]


def test_settings_that_make_no_sense(context):
    device_graph = DeviceGraph(context, design_graph())
    with pytest.raises(ConfigurationError, match="twice"):
        GpsmStrategy(device_graph, refinement="twice")
    with pytest.raises(ConfigurationError, match="bytes"):
        GpsmStrategy(device_graph, memory_limit=0)


# ------------------------------------------------------------------ threads, interruptions, freeing
def test_threads_take_turns(context, monkeypatch):
    monkeypatch.setattr("gpugda.match.gpsm.join._FIRST_WINDOW", 20)
    monkeypatch.setattr("gpugda.match.gpsm.join._LARGEST_LAST_WINDOW", 20)
    strategy = strategy_for(context, dense_graph(6))
    plans_by_rows = {
        210: make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)]),
        36: make_plan([Node()] * 2, [Relationship(0, 1)]),
        216: make_plan([Node()] * 3),
    }

    def work(number):
        rows, plan = list(plans_by_rows.items())[number % 3]
        return found_by(strategy, plan).total() == rows == count(strategy, plan)

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(work, range(60)))


@pytest.mark.parametrize("launch", [1, 4, 9, 14, 19])
def test_interruption_frees_everything(context, monkeypatch, launch):
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    found_by(strategy, plan)  # uploads the graph
    workspaces, launches = [], []
    make, really_launch = GpsmStrategy._workspace, Kernel._launch

    def workspace(self):
        workspaces.append(make(self))
        return workspaces[-1]

    def interrupted(self, *arguments):
        launches.append(self.name)
        if len(launches) == launch:
            raise KeyboardInterrupt
        really_launch(self, *arguments)

    monkeypatch.setattr(GpsmStrategy, "_workspace", workspace)
    monkeypatch.setattr(Kernel, "_launch", interrupted)
    for run in (lambda: found_by(strategy, plan), lambda: count(strategy, plan)):
        launches.clear()
        with pytest.raises(KeyboardInterrupt):
            run()
    monkeypatch.setattr(Kernel, "_launch", really_launch)
    assert [each.budget.used for each in workspaces] == [strategy._graph.nbytes] * 2
    assert found_by(strategy, plan).total() == 210
    strategy._graph.close()
    assert strategy._graph.nbytes == 0
