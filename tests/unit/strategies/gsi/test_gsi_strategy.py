"""GSI's join against trying every assignment, with each of its techniques on and off."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from bound_cases import cases
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    check_case,
    checked,
    count,
    everything,
    make_plan,
    smallest_limit,
)
from gpugda_strategies.gsi.options import GsiOptions, ablation_steps
from gpugda_strategies.gsi.strategy import GsiStrategy
from graphs import make_graph
from hub_cases import HUB_PLANS, hub_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Rows
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NOTHING = Rows(frozenset(), frozenset())
SMALL = GsiOptions(launch_from=3, group_from=2, share_from=1, group_fill=15, signature_words=1)
"""Sizes at which small graphs have long rows, full hash groups and dense signatures."""

VARIANTS = {
    **ablation_steps(),
    "without signatures": GsiOptions(signatures=False),
    "signatures row by row": GsiOptions(column_first=False),
    "small sizes": SMALL,
    "small sizes, joined twice": replace(SMALL, prealloc=False),
    "small sizes, without set operations": replace(SMALL, set_operations=False),
}


def strategy_for(context, graph, **settings):
    return GsiStrategy(DeviceGraph(context, graph), **settings)


def check(context, graph, plan, masks=NO_MASKS, **settings):
    return checked(strategy_for(context, graph, **settings), graph, plan, masks)


@given(case=cases(), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_queries_equal_the_reference(context, case, variant):
    check_case(strategy_for(context, case[0], options=VARIANTS[variant]), case)


@pytest.mark.slow
@pytest.mark.parametrize("name", HUB_PLANS)
def test_long_rows_are_balanced_and_every_variant_agrees(context, name):
    graph, plan = hub_graph(700), HUB_PLANS[name]
    device_graph = DeviceGraph(context, graph)
    sizes = {"launch_from": 300, "group_from": 64, "share_from": 32}
    found = {
        variant: count(GsiStrategy(device_graph, options=replace(options, **sizes)), plan)
        for variant, options in VARIANTS.items()
    }
    assert len(set(found.values())) == 1, found
    assert min(found.values()) > 100


def test_rows_of_a_hub_equal_those_counted_by_hand(context):
    graph = hub_graph(40)
    sizes = GsiOptions(launch_from=20, group_from=10, share_from=3)
    for plan in HUB_PLANS.values():
        check(context, graph, plan, options=sizes)


def test_small_windows_give_all_rows(context, monkeypatch):
    for name in ("_FIRST_WINDOW", "_LARGEST_WINDOW", "_LARGEST_LAST_WINDOW"):
        monkeypatch.setattr(f"gpugda_strategies.device_windows.{name}", 3)
    monkeypatch.setattr("gpugda_strategies.gsi.combine._MAX_PLACES", 4)
    nodes = 5
    graph = make_graph(
        [("", {})] * nodes, [(a, "R", b, {}) for a in range(nodes) for b in range(nodes)]
    )
    relationships = [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0)]
    plan = make_plan([Node()] * 4, relationships, [RowTest(True, 0, 3, False)])
    strategy = strategy_for(context, graph)
    chunks = list(strategy.embeddings(plan, NO_MASKS, everything(plan), StrategyReport()))
    assert max(chunk.row_count for chunk in chunks) <= 3
    check(context, graph, plan)


def test_unused_lists_are_freed(context, budgets):
    graph = hub_graph(2000)
    device_graph = DeviceGraph(context, graph)
    plans = [make_plan([Node()] * 2, [Relationship(0, 1, (kind,))]) for kind in (0, 1)]

    def run(limit):
        for plan in plans:
            count(GsiStrategy(device_graph, memory_limit=limit), plan)

    limit = smallest_limit(run, step=4096)
    strategy = GsiStrategy(device_graph, memory_limit=limit)
    expected = [count(GsiStrategy(device_graph), plan) for plan in plans]
    assert [count(strategy, plan) for plan in plans * 3] == expected * 3
    assert budgets[-1].peak <= limit
    with pytest.raises(MemoryLimitError, match="raise memory_limit or ask for less"):
        count(GsiStrategy(device_graph, memory_limit=8192), plans[0])


def test_signatures_remove_candidates(context):
    graph = make_graph([("A", {})] * 40 + [("B", {})], [(at, "R", 40, {}) for at in range(7)])
    plan = make_plan(
        [Node(((LabelOp.LABEL, 0),)), Node(((LabelOp.LABEL, 1),))], [Relationship(0, 1, (0,))]
    )
    for options, left in ((GsiOptions(), 7), (GsiOptions(signatures=False), 40)):
        report = StrategyReport()
        strategy = strategy_for(context, graph, options=options)
        assert strategy.count(plan, NO_MASKS, report) == 7
        assert report.candidates == {0: left, 1: 1}
    assert report.steps[-1].endswith("7 rows")


def test_planned_steps_are_those_that_run(context):
    graph = make_graph(
        [("A", {})] * 30 + [("B", {})] * 2, [(at, "R", 30 + at % 2, {}) for at in range(30)]
    )
    nodes = [Node(((LabelOp.LABEL, 0),), 30.0), Node(((LabelOp.LABEL, 1),), 2.0)]
    plan = make_plan(nodes, [Relationship(0, 1, (0,))])
    report = StrategyReport()
    assert strategy_for(context, graph).count(plan, NO_MASKS, report) == 30
    planned = GsiStrategy.plan(plan.bound)
    assert [step.position for step in planned] == [1, 0]
    assert [step.split()[1] for step in report.steps] == ["(n1):", "(n0)-[r0:R]->(n1):"]


@pytest.mark.parametrize("options", [GsiOptions(), ablation_steps()["basic"]])
def test_threads_share_a_strategy_that_frees_lists(context, options):
    graph = hub_graph(300)
    device_graph = DeviceGraph(context, graph)
    plans = [
        make_plan([Node()] * 2, [Relationship(0, 1, types, directed)])
        for types in ((0,), (1,), None)
        for directed in (True, False)
    ]
    expected = [count(GsiStrategy(device_graph), plan) for plan in plans]

    def run(limit):
        for plan in plans:
            count(GsiStrategy(device_graph, memory_limit=limit, options=options), plan)

    limit = 2 * smallest_limit(run, step=4096)
    strategy = GsiStrategy(device_graph, memory_limit=limit, options=options)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda plan: count(strategy, plan), plans * 5))
    assert found == expected * 5
