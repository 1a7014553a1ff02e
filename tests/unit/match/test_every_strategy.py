"""Small cases for all strategies, against trying every assignment."""

from __future__ import annotations

import time
from collections import Counter

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
    found_by,
    make_plan,
    projected,
    smallest_limit,
    with_no_rows,
)
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from gpugda_strategies.gsi.strategy import GsiStrategy
from gpugda_strategies.stwig.strategy import StwigStrategy
from graphs import dense_graph, design_graph, make_graph
from hypothesis import given

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import ConfigurationError, MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.need import Rows
from gpugda.match.registry import STRATEGIES
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

R = 0
PATH = [Relationship(0, 1), Relationship(1, 2)]
RING = [Relationship(0, 1), Relationship(1, 2), Relationship(2, 3), Relationship(3, 0)]
DIFFERENT, SAME = RowTest(True, 0, 1, False), RowTest(True, 0, 1, True)


@pytest.fixture(params=STRATEGIES.values(), ids=STRATEGIES)
def strategy(request):
    return request.param


@pytest.fixture
def make(context, strategy):
    return lambda graph, **settings: strategy(DeviceGraph(context, graph), **settings)


@pytest.fixture
def check(make):
    """Compares the rows and the count of a plan; returns the count."""
    return lambda graph, plan, masks=NO_MASKS: checked(make(graph), graph, plan, masks)


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
def test_counts_equal_those_of_neo4j(check, name):
    rows, relationships = FIGURES[name]
    nodes = [Node()] * (1 + max(max(each.source, each.target) for each in relationships))
    assert check(design_graph(), make_plan(nodes, relationships)) == rows


@pytest.mark.parametrize("k", [1, 2, 5])
def test_pairs_of_parallel_relationships_are_counted(check, k):
    graph = make_graph([("", {}), ("", {})], [(0, "R", 1, {})] * k)
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0,))])
    assert check(graph, plan) == k * (k - 1)


def test_a_star_of_equal_leaves_is_a_falling_factorial(check):
    graph = make_graph([("", {})] * 6, [(0, "R", leaf, {}) for leaf in range(1, 6)])
    plan = make_plan([Node()] * 4, [Relationship(0, leaf, (0,)) for leaf in (1, 2, 3)])
    assert check(graph, plan) == 5 * 4 * 3


def test_overlapping_types_give_a_permanent(check):
    graph = make_graph([("", {})] * 2, [(0, "R", 1, {})] * 2 + [(0, "S", 1, {})])
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0, 1))])
    assert check(graph, plan) == 4


# ------------------------------------------------------------------ missing parts
@pytest.mark.parametrize("nodes", [0, 33])
def test_graphs_without_relationships_are_answered(check, nodes):
    graph = make_graph([("A", {})] * nodes)
    assert check(graph, make_plan([Node(), Node()], [Relationship(0, 1)])) == 0
    assert check(graph, make_plan([Node()])) == nodes
    assert check(graph, make_plan([Node(), Node()])) == nodes**2


def test_patterns_without_rows_give_none(check):
    assert check(design_graph(), with_no_rows(make_plan([Node()]))) == 0


def test_a_pattern_without_nodes_has_one_row(make):
    strategy = make(design_graph())
    assert found_by(strategy, make_plan([])) == {((), ()): 1}
    assert count(strategy, make_plan([])) == 1


# ------------------------------------------------------------------ tests and predicates
def test_products_with_tests_are_counted(check):
    graph = make_graph([("A", {})] * 5 + [("B", {})] * 3, [(0, "R", 5, {}), (1, "R", 1, {})])
    a, b = Node(((LabelOp.LABEL, 0),)), Node(((LabelOp.LABEL, 1),))
    assert check(graph, make_plan([a, b, a])) == 75
    assert check(graph, make_plan([a, a], tests=[SAME])) == 5
    assert check(graph, make_plan([a, a], tests=[DIFFERENT])) == 20
    assert check(graph, make_plan([a, b], tests=[SAME])) == 0
    assert check(graph, make_plan([a, b, a], [Relationship(0, 1)])) == 5
    two = [Relationship(0, 1), Relationship(2, 3)]
    assert check(graph, make_plan([Node()] * 4, two)) == 2


def test_a_test_on_the_ends_of_the_first_relationship(check):
    for test, rows in ((DIFFERENT, 4), (SAME, 1)):
        plan = make_plan([Node(), Node()], [Relationship(0, 1)], [test])
        assert check(design_graph(), plan) == rows


def test_a_loop_and_another_relationship_are_distinct(check):
    graph = make_graph(
        [("A:B", {}), ("B", {}), ("", {}), ("", {})],
        [(0, "R", 1, {}), *((node, "R", node, {}) for node in range(4))],
    )
    a, b = (Node(((LabelOp.LABEL, label),)) for label in (0, 1))
    # The self-loop's node comes last, and may be one end of the other relationship, but not both.
    plan = make_plan([a, b, Node()], [Relationship(0, 1, (0,)), Relationship(2, 2, (0,))])
    assert check(graph, plan) == 7


def test_a_relationship_can_be_bound_again(check):
    tests = [RowTest(False, 0, 1, True)]
    relationships = [Relationship(0, 1), Relationship(2, 3, clause=1)]
    assert check(design_graph(), make_plan([Node()] * 4, relationships, tests)) == 5


def test_dozens_of_tests_are_evaluated(check):
    tests = [RowTest(True, a, b, False) for a in range(8) for b in range(a) if (a, b) != (7, 0)]
    graph = make_graph([("", {})] * 7, [(at, "R", (at + 1) % 7, {}) for at in range(7)])
    path = [Relationship(at, at + 1) for at in range(7)]
    # Eight nodes over seven: only the first and the last may be equal.
    assert check(graph, make_plan([Node()] * 8, path, tests)) == 7


def test_a_deep_label_program_is_evaluated_on_the_host(check):
    graph = make_graph([("A", {}), ("B", {}), ("", {}), ("A:B", {})])
    some = (LabelOp.LABEL, 0)
    program = (*[some] * 20, *[(LabelOp.AND, 0)] * 19)
    assert check(graph, make_plan([Node(program)])) == 2
    mask = Masks({0: np.array([0b1001], dtype=np.uint32)}, {})
    assert check(graph, make_plan([Node((*program, (LabelOp.NOT, 0)))]), mask) == 0


def test_predicates_on_closing_relationships_are_tested(check):
    graph = make_graph(
        [("", {})] * 3, [(0, "R", 1, {}), (1, "R", 2, {}), (0, "R", 2, {}), (0, "R", 2, {})]
    )
    plan = make_plan([Node()] * 3, [*PATH, Relationship(0, 2)])
    assert check(graph, plan) == 2
    only_one = Masks({}, {2: np.array([0b0010], dtype=np.uint32)})
    assert check(graph, plan, only_one) == 1


def test_a_cycle_on_a_dense_graph_is_counted(check):
    graph = dense_graph(5)
    assert check(graph, make_plan([Node()] * 4, RING)) > 100
    tests = [RowTest(True, 0, 2, False), RowTest(True, 1, 3, False)]
    assert check(graph, make_plan([Node()] * 4, RING, tests)) > 100


# ------------------------------------------------------------------ memory
@pytest.mark.slow
@pytest.mark.parametrize("strategy", [GpsmStrategy, GsiStrategy, StwigStrategy])
@given(case=cases())
def test_random_queries_in_little_memory_equal_the_reference(context, strategy, case):
    """A few hundred bytes more than counting needs; rows may need more, but are never wrong."""
    graph, plan, masks, wanted = case
    expected = projected(all_embeddings(graph, plan, masks), wanted)
    device_graph = DeviceGraph(context, graph)

    def run(limit):
        count(strategy(device_graph, memory_limit=limit), plan, masks)

    tight = strategy(device_graph, memory_limit=smallest_limit(run) + 256)
    try:
        rows = found_by(tight, plan, masks, wanted)
    except MemoryLimitError:
        return
    assert rows == expected


# ------------------------------------------------------------------ sizes, time, settings
@pytest.mark.parametrize("nodes", [1, 31, 32, 33, 64, 255, 256, 257, 1025])
def test_sizes_around_word_and_group_limits(make, nodes):
    ring = [(at, "R", (at + 1) % nodes, {}) for at in range(nodes)]
    strategy = make(make_graph([("", {})] * nodes, ring))
    plan = make_plan([Node()] * 3, PATH)
    expected = Counter(
        ((at, (at + 1) % nodes, (at + 2) % nodes), (at, (at + 1) % nodes)) for at in range(nodes)
    )
    if nodes == 1:  # its self-loop is not taken twice
        expected.clear()
    assert found_by(strategy, plan) == expected
    assert count(strategy, plan) == expected.total()


def test_a_deadline_stops_every_strategy(make):
    graph, plan = dense_graph(6), make_plan([Node()] * 3, PATH)
    strategy, nothing = make(graph), Rows(frozenset(), frozenset())
    late = time.monotonic() - 1
    with pytest.raises(QueryTimeoutError):
        strategy.count(plan, NO_MASKS, StrategyReport(), deadline=late)
    with pytest.raises(QueryTimeoutError):
        list(strategy.embeddings(plan, NO_MASKS, nothing, StrategyReport(), deadline=late))
    early = time.monotonic() + 600
    expected = all_embeddings(graph, plan).total()
    assert strategy.count(plan, NO_MASKS, StrategyReport(), deadline=early) == expected == 210


def test_wrong_settings_are_refused(make):
    with pytest.raises(ConfigurationError, match="twice"):
        make(design_graph(), refinement="twice")
    with pytest.raises(ConfigurationError, match="bytes"):
        make(design_graph(), memory_limit=0)
