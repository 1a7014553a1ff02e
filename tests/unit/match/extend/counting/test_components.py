"""Products of disconnected parts of a query, against trying every assignment."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    make_plan,
    some_masks,
    some_tests,
)
from branched_queries import a_graph, cycle, path, plan_of
from counted_groups import expected_groups
from counted_groups import groups as groups_of
from forced_plans import PARTS, thresholds
from graphs import make_graph
from hypothesis import event, given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.comparisons import BELOW, Comparison
from gpugda.plan.counting.clashes import Clashes
from gpugda.plan.counting.components import find_factors
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.join.join_rates import ExpectedCandidates
from gpugda.plan.plan import LabelOp, RowTest
from gpugda.plan.variables import Variable

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


PART = "a disconnected part of the query"


def groups(context, *query, report=None):
    return groups_of(context, *query, report=report, thresholds=thresholds(context, PARTS))


def count(context, graph, plan, masks=NO_MASKS):
    """The count, whether anything was multiplied, and the number of terms added."""
    report = StrategyReport()
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=thresholds(context, PARTS))
    counted = strategy.count(plan, masks, report)
    is_product = any(each.startswith(PART) for each in report.steps)
    return counted, is_product, sum("equal" in each for each in report.steps)


def factors_of(plan, graph, masks=NO_MASKS):
    counts = ExpectedCandidates([graph.node_count] * len(plan.bound.nodes))
    problem = CountProblem(plan.bound, graph, masks, counts)
    return find_factors(problem, Clashes(plan.bound, graph))


APART = {
    "nodes": ([], 2),
    "of two types": ([Relationship(0, 1, (0,)), Relationship(2, 3, (1,))], 2),
    "of two clauses": ([Relationship(0, 1), Relationship(2, 3, None, True, 1)], 2),
    "a cycle and a star": (cycle(0, 1, 2, kind=0) + path(3, 4, kind=1) + path(3, 5, kind=1), 2),
    "three": ([Relationship(0, 1, (0,)), Relationship(2, 3, (1,)), Relationship(4, 5, (2,))], 3),
    "a loop": ([Relationship(0, 0, (0,)), Relationship(1, 2, (1,), False)], 2),
}


@pytest.mark.parametrize("name", APART)
def test_counts_of_components_are_multiplied(context, name):
    relationships, parts = APART[name]
    plan = plan_of(relationships) if relationships else make_plan([Node()] * 2)
    for seed in range(3):
        graph = a_graph(seed, relationships=14)
        assert len(factors_of(plan, graph)) == parts
        expected = all_embeddings(graph, plan).total()
        assert count(context, graph, plan)[:2] == (expected, True)


@pytest.mark.parametrize("directed", [True, False])
def test_components_that_may_share_a_relationship_use_signed_terms(context, directed):
    one, other = cycle(0, 1, kind=0, directed=directed), path(2, 3, 4, kind=0, directed=directed)
    plan = plan_of([*one, *other])
    for loops in (True, False):
        graph = a_graph(1, relationships=14, types="R", loops=loops)
        assert not factors_of(plan, graph)
        counted, factors, terms = count(context, graph, plan)
        assert counted == all_embeddings(graph, plan).total() > 0
        assert factors
        assert terms > 4


TESTS = {
    "nodes that differ": RowTest(True, 0, 2, False),
    "the same node": RowTest(True, 1, 3, True),
    "the same relationship": RowTest(False, 0, 1, True),
}


@pytest.mark.parametrize("name", TESTS)
def test_row_tests_connect_components(context, name):
    plan = plan_of([Relationship(0, 1), Relationship(2, 3, clause=1)], [TESTS[name]])
    graph = a_graph(1, relationships=14)
    assert not factors_of(plan, graph)
    counted, factors, terms = count(context, graph, plan)
    assert counted == all_embeddings(graph, plan).total()
    # Without the test, parts with different nodes are disconnected.
    assert (factors, terms > 0) == (name == "nodes that differ",) * 2


def test_comparisons_connect_components(context):
    plan, graph = make_plan([Node()] * 2), a_graph(1)
    less = Comparison(Variable(True, 0), Variable(True, 1), BELOW, None, None, 0.5, "")
    assert count(context, graph, plan, Masks({}, {}, (less,))) == (6, False, 0)


def test_labels_and_masks_stay_with_their_nodes(context):
    graph = make_graph(
        [("A", {}), ("B", {}), ("A", {}), ("B", {})],
        [(0, "R", 1, {}), (2, "R", 3, {}), (1, "S", 2, {}), (3, "S", 0, {}), (1, "S", 0, {})],
    )
    label = {name: ((LabelOp.LABEL, graph.labels.get(name)),) for name in "AB"}
    # Interleaved, so that positions change: (0:A)-[:R]->(2), (1:B)-[:S]->(3:A).
    plan = make_plan(
        [Node(label["A"]), Node(label["B"]), Node(), Node(label["A"])],
        [Relationship(1, 3, (1,)), Relationship(0, 2, (0,))],
    )
    first, second = factors_of(plan, graph)
    assert (first.relationships, second.relationships) == (((1,),), ((0,),))
    assert second.pattern.nodes[1].labels == label["A"]
    assert count(context, graph, plan) == (2 * 3, True, 0)
    masks = Masks({3: np.array([0b0001], np.uint32)}, {1: np.array([0b00001], np.uint32)})
    expected = all_embeddings(graph, plan, masks).total()
    assert count(context, graph, plan, masks) == (expected, True, 0)
    assert 0 < expected < 6


def test_a_component_without_rows_gives_zero(context):
    plan = plan_of([Relationship(0, 0, (0,)), Relationship(1, 2, (1,))])
    graph = a_graph(1, loops=False)
    assert count(context, graph, plan)[0] == 0


@pytest.mark.parametrize(("nodes", "is_product"), [((0,), True), ((2, 3), True), ((1, 3), False)])
def test_groups_of_one_component_are_multiplied(context, nodes, is_product):
    plan = plan_of([Relationship(0, 1, (0,)), Relationship(2, 3, (1,)), Relationship(4, 5, (2,))])
    graph, report = a_graph(1, relationships=14), StrategyReport()
    expected = expected_groups(graph, plan, nodes)
    assert groups(context, graph, plan, nodes, report=report) == expected
    assert any(each.startswith(PART) for each in report.steps) == is_product


def test_groups_of_components_saturate_at_the_largest_count(context):
    graph = make_graph([("", {})] * 301, [(0, "R", 1 + each, {}) for each in range(300)])
    plan = plan_of([Relationship(2 * at, 2 * at + 1, None, True, at) for at in range(10)])
    found = groups(context, graph, plan, (1,))
    assert found == {(1 + each,): 1 << 63 for each in range(300)}
    plan = plan_of([Relationship(2 * at, 2 * at + 1, None, True, at) for at in range(8)])
    assert groups(context, graph, plan, (1,)) == {(1 + each,): 300**7 for each in range(300)}
    nothing = plan_of([Relationship(0, 1), Relationship(2, 2, None, True, 1)])
    assert groups(context, graph, nothing, (1,)) == {}


def test_counts_beyond_64_bits_are_exact(context):
    """Ten stars with 300 leaves each, 10 leaves at a time."""
    graph = make_graph([("", {})] * 301, [(0, "R", 1 + each, {}) for each in range(300)])
    plan = plan_of([Relationship(2 * at, 2 * at + 1, None, True, at) for at in range(10)])
    counted, factors, _ = count(context, graph, plan)
    assert (counted, factors) == (300**10, True)
    assert counted > 1 << 64


@st.composite
def scattered_queries(draw):
    """Parts of one to three nodes each, often of one type, sometimes with tests between them."""
    nodes = draw(st.integers(1, 4))
    place = st.integers(0, nodes - 1)
    row = st.tuples(place, st.sampled_from("RS"), place)
    rows = draw(st.lists(row, min_size=1, max_size=7))
    graph = make_graph(
        [(draw(st.sampled_from(["", "A"])), {}) for _ in range(nodes)],
        [(*each, {}) for each in rows],
    )
    relationships, size = [], 0
    for number in range(draw(st.integers(2, 3))):
        new = draw(st.integers(1, 3))
        kind = draw(st.sampled_from([(0,), (len(graph.types) - 1,), None]))
        directed, clause = draw(st.booleans()), draw(st.sampled_from([0, 0, number]))
        own = [*range(size, size + new)]
        if new == 3 and draw(st.booleans()):
            own.append(size)
        relationships += [Relationship(a, b, kind, directed, clause) for a, b in pairwise(own)]
        size += new
    programs = [(), (), *(((LabelOp.LABEL, each),) for each in range(len(graph.labels)))]
    tests = draw(some_tests(size, len(relationships)))
    plan = make_plan(
        [Node(draw(st.sampled_from(programs))) for _ in range(size)], relationships, tests
    )
    grouped = tuple(sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=2))))
    if not relationships:
        return graph, plan, NO_MASKS, grouped
    return graph, plan, draw(some_masks(graph, size, len(relationships))), grouped


@given(case=scattered_queries())
def test_random_queries_equal_the_reference(context, case):
    graph, plan, masks, grouped = case
    counted, factors, terms = count(context, graph, plan, masks)
    event(f"multiplied {bool(factors)}, added up {bool(terms)}")
    assert counted == all_embeddings(graph, plan, masks).total()
    expected = expected_groups(graph, plan, grouped, masks)
    assert groups(context, graph, plan, grouped, masks) == expected
