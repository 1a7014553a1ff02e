"""The thesis' pipeline against trying every assignment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from bound_cases import cases
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    check_case,
    checked,
    count,
    everything,
    found_by,
    make_plan,
    smallest_limit,
)
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from graphs import dense_graph, design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.program import Kernel
from gpugda.errors import MemoryLimitError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Rows
from gpugda.plan.plan import RowTest

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


# ------------------------------------------------------------------ random cases
@given(case=cases(), refinement=st.sampled_from(["off", "once", "fixpoint"]))
def test_random_queries_equal_the_reference(context, case, refinement):
    check_case(strategy_for(context, case[0], refinement=refinement), case)


def tight_strategy(device_graph, plan, masks):
    """A strategy with a few hundred bytes more than its first two stages need."""

    def run(limit):
        count(GpsmStrategy(device_graph, memory_limit=limit), plan, masks)

    return GpsmStrategy(device_graph, memory_limit=smallest_limit(run) + 256)


# ------------------------------------------------------------------ windows, memory, time
@pytest.mark.parametrize("window", [1, 2, 3, 7, 100])
def test_small_windows_give_all_rows(context, monkeypatch, window):
    monkeypatch.setattr("gpugda_strategies.device_windows._FIRST_WINDOW", window)
    monkeypatch.setattr("gpugda_strategies.device_windows._LARGEST_WINDOW", window)
    monkeypatch.setattr("gpugda_strategies.device_windows._LARGEST_LAST_WINDOW", window)
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


def test_a_memory_limit_is_respected_and_changes_no_rows(context):
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


def test_chunks_are_made_on_demand(context, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.device_windows._FIRST_WINDOW", 4)
    monkeypatch.setattr("gpugda_strategies.device_windows._LARGEST_LAST_WINDOW", 4)
    strategy = strategy_for(context, dense_graph(6))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    report = StrategyReport()
    chunks = strategy.embeddings(plan, NO_MASKS, everything(plan), report)
    assert next(chunks).row_count == 4
    assert next(chunks).row_count == 4
    chunks.close()
    assert report.steps[1].endswith("8 rows in 2 chunks")
    assert found_by(strategy, plan).total() == 6**3 - 6


def test_counts_beyond_32_bits_are_exact(context):
    plan = make_plan([Node()] * 5)
    graph = make_graph([("", {})] * 100)
    assert count(strategy_for(context, graph), plan) == 100**5
    hubs = make_graph([("", {})] * 3, [(0, "R", 1, {})] * 70 + [(1, "R", 2, {})] * 70)
    relationships = [Relationship(0, 1, (0,), clause=at) for at in range(6)]
    assert count(strategy_for(context, hubs), make_plan([Node()] * 2, relationships[:3])) == (
        2 * 70**3
    )


def test_the_report_lists_the_steps(context):
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


# ------------------------------------------------------------------ threads, interruptions, freeing
def test_threads_share_a_strategy(context, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.device_windows._FIRST_WINDOW", 20)
    monkeypatch.setattr("gpugda_strategies.device_windows._LARGEST_LAST_WINDOW", 20)
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
def test_an_interruption_frees_all_memory(context, monkeypatch, launch):
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
