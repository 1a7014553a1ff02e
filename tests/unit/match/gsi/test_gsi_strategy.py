"""GSI's join against trying every assignment, with each of its techniques on and off."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

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
)
from graphs import design_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.gsi.options import GsiOptions, ablation_steps
from gpugda.match.gsi.strategy import GsiStrategy
from gpugda.match.need import Rows
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NOTHING = Rows(frozenset(), frozenset())
SMALL = GsiOptions(launch_from=3, group_from=2, share_from=1, group_fill=15, signature_words=1)
"""Sizes at which small graphs have long rows, full hash groups and crowded signatures."""

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
def test_any_query_on_any_graph(context, case, variant):
    graph, plan, masks, wanted = case
    strategy = strategy_for(context, graph, options=VARIANTS[variant])
    expected = all_embeddings(graph, plan, masks)
    assert found_by(strategy, plan, masks, wanted) == projected(expected, wanted)
    assert count(strategy, plan, masks) == expected.total()


def hub_graph(leaves=700):
    """A hub with many neighbours in two types, parallel ones and loops, and a ring around it."""
    nodes = [("H", {})] + [("A" if at % 3 else "B", {}) for at in range(leaves)]
    relationships = [(0, "R" if at % 2 else "S", at, {}) for at in range(1, leaves + 1)]
    relationships += [(at, "R", at % leaves + 1, {}) for at in range(1, leaves + 1)]
    relationships += [(0, "R", at, {}) for at in range(1, leaves, 50)] + [(0, "R", 0, {})] * 2
    return make_graph(nodes, relationships)


HUB_PLANS = {
    "triangles": make_plan(
        [Node()] * 3, [Relationship(0, 1), Relationship(1, 2), Relationship(0, 2)]
    ),
    "undirected triangles": make_plan(
        [Node()] * 3,
        [
            Relationship(0, 1, directed=False),
            Relationship(1, 2, (0,), directed=False),
            Relationship(2, 0, directed=False),
        ],
    ),
    "two paths": make_plan([Node()] * 3, [Relationship(0, 1, (0,)), Relationship(1, 2, (0, 1))]),
    "a square": make_plan(
        [Node(), Node(), Node(((LabelOp.LABEL, 1),)), Node()],
        [Relationship(0, 1), Relationship(1, 2), Relationship(3, 2), Relationship(0, 3)],
    ),
}


@pytest.mark.parametrize("name", HUB_PLANS)
def test_long_rows_are_balanced_and_every_variant_agrees(context, name):
    graph, plan = hub_graph(), HUB_PLANS[name]
    device_graph = DeviceGraph(context, graph)
    sizes = {"launch_from": 300, "group_from": 64, "share_from": 32}
    found = {
        variant: count(GsiStrategy(device_graph, options=replace(options, **sizes)), plan)
        for variant, options in VARIANTS.items()
    }
    assert len(set(found.values())) == 1, found
    assert min(found.values()) > 100


def test_rows_of_a_hub_are_those_of_counting_by_hand(context):
    graph = hub_graph(40)
    sizes = GsiOptions(launch_from=20, group_from=10, share_from=3)
    for plan in HUB_PLANS.values():
        check(context, graph, plan, options=sizes)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_two_over_k_parallel_relationships(context, k):
    graph = make_graph([("", {}), ("", {})], [(0, "R", 1, {})] * k)
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0,))])
    assert check(context, graph, plan) == k * (k - 1)


def test_empty_graphs(context):
    for graph in (make_graph([]), make_graph([("A", {})] * 33)):
        assert check(context, graph, make_plan([Node(), Node()], [Relationship(0, 1)])) == 0
        assert check(context, graph, make_plan([Node()])) == graph.node_count
    assert found_by(strategy_for(context, design_graph()), make_plan([])) == {((), ()): 1}


def test_products_and_their_tests(context):
    graph = make_graph([("A", {})] * 5 + [("B", {})] * 3, [(0, "R", 5, {}), (1, "R", 1, {})])
    a, b = Node(((LabelOp.LABEL, 0),)), Node(((LabelOp.LABEL, 1),))
    assert check(context, graph, make_plan([a, b, a])) == 75
    assert check(context, graph, make_plan([a, a], tests=[RowTest(True, 0, 1, False)])) == 20
    two = [Relationship(0, 1), Relationship(2, 3)]
    assert check(context, graph, make_plan([Node()] * 4, two)) == 2


def test_windows_of_a_few_rows(context, monkeypatch):
    for name in ("_FIRST_WINDOW", "_LARGEST_WINDOW", "_LARGEST_LAST_WINDOW"):
        monkeypatch.setattr(f"gpugda.match.gsi.windows.{name}", 3)
    monkeypatch.setattr("gpugda.match.gsi.combine._MOST_PLACES", 4)
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


@given(case=cases())
def test_any_query_with_hardly_any_memory(context, case):
    graph, plan, masks, wanted = case
    expected = projected(all_embeddings(graph, plan, masks), wanted)
    roomy = strategy_for(context, graph)
    assert found_by(roomy, plan, masks, wanted) == expected

    def run(limit):
        count(GsiStrategy(roomy._graph, memory_limit=limit), plan, masks)

    tight = GsiStrategy(roomy._graph, memory_limit=smallest_limit(run) + 256)
    try:
        rows = found_by(tight, plan, masks, wanted)
    except MemoryLimitError:
        return
    assert rows == expected


def test_lists_that_no_query_needs_make_room(context, budgets):
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


def test_deadline(context):
    strategy = strategy_for(context, hub_graph(50))
    plan = HUB_PLANS["two paths"]
    late = time.monotonic() - 1
    with pytest.raises(QueryTimeoutError):
        strategy.count(plan, NO_MASKS, StrategyReport(), deadline=late)
    with pytest.raises(QueryTimeoutError):
        list(strategy.embeddings(plan, NO_MASKS, NOTHING, StrategyReport(), deadline=late))


def test_signatures_take_candidates_away(context):
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


def test_predicates_on_relationships_that_close_a_cycle(context):
    graph = make_graph(
        [("", {})] * 3, [(0, "R", 1, {}), (1, "R", 2, {}), (0, "R", 2, {}), (0, "R", 2, {})]
    )
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2), Relationship(0, 2)])
    assert check(context, graph, plan) == 2
    only_one = Masks({}, {2: np.array([0b0010], dtype=np.uint32)})
    assert check(context, graph, plan, only_one) == 1


def test_planned_steps_are_those_that_run(context):
    graph = make_graph(
        [("A", {})] * 30 + [("B", {})] * 2, [(at, "R", 30 + at % 2, {}) for at in range(30)]
    )
    nodes = [Node(((LabelOp.LABEL, 0),), 30.0), Node(((LabelOp.LABEL, 1),), 2.0)]
    plan = make_plan(nodes, [Relationship(0, 1, (0,))])
    report = StrategyReport()
    assert strategy_for(context, graph).count(plan, NO_MASKS, report) == 30
    planned = GsiStrategy.plan_steps(plan.bound)
    assert [step.position for step in planned] == [1, 0]
    assert [step.split()[1] for step in report.steps] == ["(n1):", "(n0)-[r0:R]->(n1):"]


@pytest.mark.parametrize("options", [GsiOptions(), ablation_steps()["basic"]])
def test_threads_share_a_strategy_that_drops_lists(context, options):
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
