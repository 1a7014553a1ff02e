"""STwigs and their join against trying every assignment."""

from __future__ import annotations

import time

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
)
from gpugda_strategies.stwig.decompose import decompose
from gpugda_strategies.stwig.strategy import StwigStrategy
from graphs import dense_graph, make_graph
from hypothesis import given

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import StrategyReport
from gpugda.plan.plan import LabelOp

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


def strategy_for(context, graph, **settings):
    return StwigStrategy(DeviceGraph(context, graph), **settings)


def check(context, graph, plan, masks=NO_MASKS, **settings):
    return checked(strategy_for(context, graph, **settings), graph, plan, masks)


RING = [Relationship(0, 1), Relationship(1, 2), Relationship(2, 3), Relationship(3, 0)]


@given(case=cases())
def test_random_queries_equal_the_reference(context, case):
    check_case(strategy_for(context, case[0]), case)


@given(case=cases())
def test_random_queries_in_many_launches_equal_the_reference(context, case):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gpugda_strategies.stwig.pipeline._LARGEST_OUTPUT", 2)
        patched.setattr("gpugda_strategies.stwig.pipeline._STEPS", {False: 3, True: 3})
        patched.setattr("gpugda_strategies.stwig.relations._SHARE_KEPT", 1 << 62)
        patched.setattr("gpugda_strategies.device_windows._FIRST_WINDOW", 2)
        patched.setattr("gpugda_strategies.device_windows._LARGEST_LAST_WINDOW", 2)
        check_case(strategy_for(context, case[0]), case)


def test_bindings_of_earlier_stwigs_leave_fewer_roots(context):
    # Of 30 nodes with an S relationship, only the one that an R reaches is a relevant root.
    relationships = [(0, "R", 1, {})] + [(at, "S", 40, {}) for at in range(1, 31)]
    graph = make_graph([("A", {})] + [("B", {})] * 40, relationships)
    labels = [Node(((LabelOp.LABEL, 0),)), Node(((LabelOp.LABEL, 1),)), Node()]
    plan = make_plan(labels, [Relationship(0, 1, (0,)), Relationship(1, 2, (1,))])
    report = StrategyReport()
    strategy = strategy_for(context, graph)
    assert strategy.count(plan, NO_MASKS, report) == 1
    matches = [step.rsplit(": ", 1)[1] for step in report.steps]
    assert matches == ["1 matches", "1 matches", "1 rows in 1 launches"]


def test_decomposition_has_each_relationship_once_and_linked_roots():
    nodes = [Node()] * 7
    relationships = [*RING, Relationship(3, 4), Relationship(4, 4), Relationship(5, 5)]
    bound = make_plan(nodes, relationships).bound
    stwigs = decompose(bound, lambda node: node + 1)
    found = sorted(each.position for stwig in stwigs for each in stwig.relationships)
    assert found == list(range(len(relationships)))
    reached = set(stwigs[0].nodes)
    for stwig in stwigs[1:]:
        assert stwig.root in reached or stwig.root in {5, 6}
        reached |= set(stwig.nodes)
    assert reached == set(range(7))


def test_rows_are_made_on_demand(context, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.stwig.pipeline._LARGEST_OUTPUT", 10)
    plan = make_plan([Node()] * 4, RING)
    strategy = strategy_for(context, dense_graph(5))
    report = StrategyReport()
    chunks = strategy.embeddings(plan, NO_MASKS, everything(plan), report)
    assert next(chunks).row_count <= 10
    chunks.close()
    assert "join: 10 rows in 1 launches" in report.steps


def test_memory_limit_and_deadline_are_respected(context, budgets):
    graph, plan = dense_graph(20), make_plan([Node()] * 4, RING)
    with pytest.raises(MemoryLimitError, match="raise memory_limit or ask for less"):
        count(strategy_for(context, graph, memory_limit=20_000), plan)
    limit = 1 << 20
    expected = count(strategy_for(context, graph), plan)
    assert count(strategy_for(context, graph, memory_limit=limit), plan) == expected
    assert budgets[-1].peak <= limit
    late = time.monotonic() - 1
    with pytest.raises(QueryTimeoutError):
        strategy_for(context, graph).count(plan, NO_MASKS, StrategyReport(), deadline=late)


def test_more_matches_than_a_table_can_address_are_refused(context, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.stwig.relations._MAX_RECORDS", 7)
    with pytest.raises(MemoryLimitError, match="more than 7 matches"):
        count(strategy_for(context, dense_graph(6)), make_plan([Node()] * 4, RING))


def test_planned_steps_follow_the_stwigs():
    nodes = [Node(cardinality=each) for each in (9.0, 1.0, 5.0, 7.0, 3.0)]
    bound = make_plan(nodes, RING).bound
    planned = [step.position for step in StwigStrategy.plan(bound)]
    assert planned[0] == 1
    assert set(planned[1:3]) == {0, 2}
    assert planned[-1] == 4  # it has no relationship
