"""Plans carry over to a later state of their graph while the facts that they rest on hold."""

import gc
import weakref
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from graphs import make_graph

from gpugda.data.identifiers import NameTable
from gpugda.loading import LoadedGraph
from gpugda.plan.plan_basis import PlanBasis
from gpugda.query.prepare import prepare

TEXT = "MATCH (a:A)-[:R]->(b) WHERE a.x = 1 RETURN count(*)"


def a_graph(nodes=200):
    ring = [(n, "R", (n + 1) % nodes, {}) for n in range(nodes)]
    graph = make_graph([(["A"], {"x": n % 50}) for n in range(nodes)], ring)
    return later(graph, distinct_counts={"x": 50})


def later(graph, **statistics):
    return replace(graph, statistics=replace(graph.statistics, **statistics))


@pytest.mark.parametrize(
    ("statistics", "holds"),
    [
        ({}, True),
        ({"node_count": 216}, True),
        ({"node_count": 219}, True),
        ({"node_count": 240}, False),
        ({"relationship_count": 0}, False),
        ({"label_counts": (150,)}, False),
        ({"label_counts": (200, 0)}, False),
        ({"loop_counts": (1,)}, False),
        ({"distinct_counts": {"x": 60}}, True),
        ({"distinct_counts": {"x": 100}}, False),
        ({"distinct_counts": {"x": None}}, False),
        ({"distinct_counts": {"x": 50, "y": 1}}, False),
        ({"pattern_counts": {}}, False),
        ({"pattern_counts_complete": False, "pattern_counts": {(0, 0, 0): 200}}, False),
    ],
)
def test_a_plan_holds_while_counts_are_similar_and_none_becomes_zero(statistics, holds):
    graph = a_graph()
    assert PlanBasis.of(graph).holds_for(later(graph, **statistics)) is holds


def test_a_plan_does_not_hold_with_other_name_tables():
    graph = a_graph()
    basis = PlanBasis.of(graph)
    assert not basis.holds_for(replace(graph, labels=NameTable(("A", "B"))))
    assert not basis.holds_for(replace(graph, types=NameTable(("R", "S"))))


def states(*graphs):
    loaded = LoadedGraph(graphs[0], "test", 0.0, datetime.now(UTC))
    yield loaded
    for graph in graphs[1:]:
        loaded = loaded.followed_by(graph, None, 1)
        yield loaded


def test_the_next_state_has_the_same_bound_query_but_nothing_that_runs_recorded():
    graph = a_graph()
    first, second, third = states(graph, later(graph, node_count=205), later(graph, node_count=300))
    query = prepare(TEXT)
    whole = first.plan(query, "extend")
    plan = whole.pattern
    assert plan.steps
    plan.kept["seen"] = True
    following = second.plan(query, "extend").pattern
    assert following is not plan
    assert following.bound is plan.bound
    assert following.steps is plan.steps
    assert following.kept == {}
    assert third.plan(query, "extend").pattern.bound is not plan.bound
    assert first.plan(query, "extend") is whole


def test_states_share_the_physical_plan_while_its_facts_hold():
    graph = a_graph()
    first, second, third = states(graph, later(graph, node_count=205), later(graph, node_count=300))
    plans = [each.plan(prepare(TEXT), "extend").physical() for each in (first, second, third)]
    assert plans[1] is plans[0]
    assert plans[2] is not plans[0]


def test_many_small_changes_add_up():
    graph = a_graph()
    grown = [later(graph, node_count=200 + 5 * n) for n in range(10)]
    bound = [each.plan(prepare(TEXT), "extend").pattern.bound for each in states(*grown)]
    assert bound[1] is bound[0]
    assert bound[-1] is not bound[0]


def test_plans_do_not_keep_earlier_states():
    graph = a_graph()
    first, second = states(graph, later(graph, node_count=205))
    first.plan(prepare(TEXT), "extend")
    known = weakref.ref(graph)
    del first, graph
    gc.collect()
    assert known() is None
    assert second.plan(prepare(TEXT), "extend").pattern.bound.nodes
