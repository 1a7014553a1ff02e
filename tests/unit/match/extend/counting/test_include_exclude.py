"""Inclusion-exclusion: counts as sums of signed terms, against trying every assignment."""

from __future__ import annotations

import functools
import math
import time
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    all_embeddings,
    make_plan,
)
from branched_queries import a_graph, branched_queries, cycle, path, plan_of
from counted_groups import expected_groups
from counted_groups import groups as groups_of
from forced_plans import DEGREES, PARTS, ROWS, TABLES, thresholds
from graphs import make_graph
from hypothesis import assume, event, given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import QueryTimeoutError
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend import strategy as module
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.comparisons import BELOW, Comparison
from gpugda.plan.counting.identify import identifications, identify, without_tests_of
from gpugda.plan.counting.include_exclude import merged_term
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.join.join_rates import ExpectedCandidates
from gpugda.plan.plan import LabelOp, RowTest
from gpugda.plan.row_tests import PossibleOverlaps
from gpugda.plan.variables import Variable

needs_device = pytest.mark.skipif(not list_devices(), reason="no OpenCL device")


SUMMED = DEGREES | ROWS | TABLES | PARTS | {"max_dropped_tests": 12}
"""Sums terms whether or not it pays off, and terms of terms, too."""


def strategy_for(context, graph, **changes):
    decides = thresholds(context, SUMMED, changes)
    return ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)


def groups(context, *query, **more):
    return groups_of(context, *query, thresholds=thresholds(context, SUMMED), **more)


def count(context, graph, plan, masks=NO_MASKS, **changes):
    """The count, and the number of terms."""
    report = StrategyReport()
    counted = strategy_for(context, graph, **changes).count(plan, masks, report)
    return counted, sum("equal" in each for each in report.steps)


# ------------------------------------------------------------------ one pair of relationships
def total(graph, bound, masks, plan):
    return all_embeddings(graph, replace(plan, bound=bound), masks).total()


def masks_of(graph, plan, merged, masks):
    """The masks of a pattern in which two relationships are identified."""
    counts = ExpectedCandidates([0] * len(merged.nodes))
    problem = CountProblem(plan.bound, graph, masks, counts)
    return merged_term(problem, merged, 1, (0, 1)).masks(masks)


def assert_identified_are_the_rest(graph, plan, masks):
    """Checks that the embeddings without a test are those with it and those of the terms.

    Returns the number of terms.
    """
    bound = plan.bound
    overlaps, terms = PossibleOverlaps(bound, graph), 0
    for test in bound.tests:
        if test.on_nodes or test.equal or test.left == test.right:
            continue
        pair = min(test.left, test.right), max(test.left, test.right)
        one, other = (bound.relationships[each] for each in pair)
        loose, same = without_tests_of(bound, [pair]), 0
        for nodes, sign in identifications(one, other, overlaps.alignments(one, other)):
            merged = identify(loose, graph, pair, nodes)
            if merged is not None:
                terms += 1
                left = masks_of(graph, plan, merged, masks)
                same += sign * total(graph, merged.bound, left, plan)
                assert len(merged.nodes) == len(bound.nodes)
                assert {*merged.nodes} == {*range(len(merged.bound.nodes))}
        assert total(graph, loose, masks, plan) == total(graph, bound, masks, plan) + same
    return terms


PAIRS = {
    "directed": ([Relationship(0, 1), Relationship(2, 3)], 1),
    "undirected": ([Relationship(0, 1, None, False), Relationship(2, 3, None, False)], 3),
    "one of both": ([Relationship(0, 1), Relationship(2, 3, None, False)], 3),
    "the other one": ([Relationship(0, 1, None, False), Relationship(2, 3)], 3),
    "one after the other": ([Relationship(0, 1), Relationship(1, 2)], 1),
    "with an end in common": (
        [Relationship(0, 1, None, False), Relationship(0, 2, None, False)],
        1,
    ),
    "beside each other": ([Relationship(0, 1), Relationship(0, 1)], 1),
    "undirected beside each other": (
        [Relationship(0, 1, None, False), Relationship(0, 1, None, False)],
        1,
    ),
    "a loop": ([Relationship(0, 0), Relationship(1, 2, None, False)], 1),
    "two loops": ([Relationship(0, 0), Relationship(1, 1)], 1),
    "types in common": ([Relationship(0, 1, (0, 1)), Relationship(2, 3, (1, 2))], 1),
    "one type of any": ([Relationship(0, 1, None), Relationship(2, 3, (1,))], 1),
}


@pytest.mark.parametrize("name", PAIRS)
def test_equal_pairs_of_relationships_are_subtracted(name):
    relationships, terms = PAIRS[name]
    for seed in range(3):
        graph, plan = a_graph(seed, relationships=12), plan_of(relationships)
        assert assert_identified_are_the_rest(graph, plan, NO_MASKS) == terms
    without_loops = a_graph(3, relationships=12, loops=False)
    assert_identified_are_the_rest(without_loops, plan, NO_MASKS)


def test_relationships_without_a_type_in_common_are_never_one():
    graph = a_graph(1)
    bound = plan_of([Relationship(0, 1, (0,)), Relationship(2, 3, (1,))]).bound
    assert identify(bound, graph, (0, 1), [(0, 2), (1, 3)]) is None
    assert not PossibleOverlaps(bound, graph).alignments(*bound.relationships)


@pytest.mark.parametrize(
    ("alignments", "types", "relationships"),
    [
        ([(0, 1), (1, 2), (0, 3), (3, 2)], "RR", 2),
        ([(0, 1), (1, 2), (0, 3), (2, 3)], "RR", 3),
        ([(0, 1), (1, 2), (0, 3), (3, 2)], "RS", 3),
    ],
)
def test_pairs_forced_to_be_equal_are_merged(alignments, types, relationships):
    links = [
        Relationship(*ends, (0 if kind == "R" else 1,))
        for ends, kind in zip(alignments, types[0] * 2 + "R" + types[1], strict=True)
    ]
    masks = Masks({}, {1: graph_mask(~(1 << 3)), 3: graph_mask(~(1 << 5))})
    for seed in range(8):
        graph = a_graph(seed, relationships=20, types="RS", parallel=False)
        plan = plan_of(links)
        bound = without_tests_of(plan.bound, [(0, 2), (1, 3)])
        merged = identify(bound, graph, (0, 2), [(1, 3)])
        assert len(merged.bound.relationships) == relationships
        every = all_embeddings(graph, replace(plan, bound=bound), masks)
        same = sum(links[0] == links[2] for _, links in every.elements())
        assert total(graph, merged.bound, masks_of(graph, plan, merged, masks), plan) == same


def test_merged_pairs_that_must_differ_give_zero():
    links = [Relationship(0, 1, (0,)), Relationship(1, 2, (0,))]
    bound = plan_of([*links, Relationship(0, 3, (0,)), Relationship(3, 2, (0,))]).bound
    single, parallel = a_graph(2, types="R", parallel=False), a_graph(2, types="R")
    assert identify(bound, single, (0, 2), [(1, 3)]) is None
    assert identify(bound, parallel, (0, 2), [(1, 3)]) is not None


def test_a_failing_test_gives_zero():
    graph = a_graph(1)
    plan = plan_of([Relationship(0, 1), Relationship(2, 3)], [RowTest(True, 0, 2, False)])
    assert identify(plan.bound, graph, (0, 1), [(0, 2), (1, 3)]) is None
    assert assert_identified_are_the_rest(graph, plan, NO_MASKS) == 0


def test_merged_nodes_have_the_labels_and_masks_of_all(context):
    nodes = [("A", {}), ("B", {}), ("A:B", {}), ("", {})]
    graph = make_graph(nodes, [(a, "R", b, {}) for a in range(4) for b in range(4)])
    either = ((LabelOp.LABEL, 0), (LabelOp.LABEL, 1), (LabelOp.OR, 0))
    query_nodes = [Node(((LabelOp.LABEL, 0),)), Node(either), Node(((LabelOp.LABEL, 1),)), Node()]
    plan = make_plan(query_nodes, [Relationship(0, 1), Relationship(2, 3)])
    mask = graph_mask(0b1110)
    for masks in (NO_MASKS, Masks({0: mask, 2: graph_mask(0b0110)}, {1: graph_mask(0b10110011)})):
        assert assert_identified_are_the_rest(graph, plan, masks) == 1
    merged = identify(plan.bound, graph, (0, 1), [(0, 2), (1, 3)])
    assert len(merged.bound.nodes) == 2
    assert merged.bound.nodes[1].labels == either


def graph_mask(bits):
    return np.array([bits & 0xFFFFFFFF], dtype=np.uint32)


def test_dropped_tests_lower_the_needed_degrees():
    plan = plan_of([Relationship(0, 1, (0,)), Relationship(0, 2, (0,)), Relationship(0, 3, (0,))])
    needed = [need.at_least for need in plan.bound.nodes[0].degree_needs]
    assert needed == [3]
    for pairs, most in (([(0, 1)], 2), ([(0, 1), (0, 2), (1, 2)], 1)):
        loose = without_tests_of(plan.bound, pairs)
        assert [need.at_least for need in loose.nodes[0].degree_needs] == [most]


@given(st.data())
def test_random_pairs_of_relationships_equal_the_reference(data):
    graph, plan, masks, _ = data.draw(branched_queries(alike=True))
    assume(len(plan.bound.relationships) <= 5)
    terms = assert_identified_are_the_rest(graph, plan, masks)
    event(f"{min(terms, 3)} terms or more")


# ------------------------------------------------------------------ whole counts
SUMS = {
    "two triangles at a node": cycle(0, 1, 2, kind=0) + cycle(0, 3, 4, kind=0),
    "undirected triangles at a node": cycle(0, 1, 2, kind=0, directed=False)
    + cycle(0, 3, 4, kind=0, directed=False),
    "a path of 4": path(0, 1, 2, 3, 4, kind=0),
    "a path of 5": path(0, 1, 2, 3, 4, 5, kind=0),
    "an undirected path of 4": path(0, 1, 2, 3, 4, kind=0, directed=False),
    "a tree": path(0, 1, 2, kind=0) + path(0, 3, 4, kind=0) + path(0, 5, kind=0),
    "a square with a path": cycle(0, 1, 2, 3, kind=0) + path(0, 4, 5, kind=0),
    "pairs at a node": cycle(0, 1, kind=0) + cycle(0, 2, kind=0) + path(0, 3, kind=0),
}


@functools.cache
def cases_of(name):
    """Yields graphs and the pattern's embeddings in each; both devices must give the same count."""
    plan = plan_of(SUMS[name])
    graphs = [
        a_graph(seed, relationships=14, types="R", loops=loops, parallel=parallel)
        for seed in range(3)
        for loops, parallel in ((True, True), (False, True), (False, False))
    ]
    return plan, [(graph, all_embeddings(graph, plan).total()) for graph in graphs]


@pytest.mark.one_in(2)
@needs_device
@pytest.mark.device
@pytest.mark.parametrize("name", SUMS)
def test_sums_of_signed_terms_equal_the_reference(context, name):
    plan, cases = cases_of(name)
    for graph, expected in cases:
        counted, terms = count(context, graph, plan)
        assert counted == expected
        assert terms > 1 or not expected
    assert any(expected for _, expected in cases)


@needs_device
@pytest.mark.device
@given(case=branched_queries(alike=True))
def test_random_queries_equal_the_reference(context, case):
    graph, plan, masks, grouped = case
    counted, terms = count(context, graph, plan, masks)
    event("added up" if terms else "not added up")
    assert counted == all_embeddings(graph, plan, masks).total()
    report = StrategyReport()
    expected = expected_groups(graph, plan, grouped, masks)
    assert groups(context, graph, plan, grouped, masks, report) == expected
    assert groups(context, graph, plan, grouped, masks, counted=False) == Counter(set(expected))
    event("groups added up" if any("equal" in each for each in report.steps) else "groups joined")


APART = [RowTest(True, 0, 3, False)]
"""The ends of a path of three relationships differ."""


@needs_device
@pytest.mark.device
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("loops", [True, False])
def test_counts_of_distinct_nodes_subtract_equal_ones(context, directed, loops):
    plan, all_counted = plan_of(path(0, 1, 2, 3, kind=0, directed=directed), APART), 0
    for seed in range(4):
        graph, report = a_graph(seed, relationships=16, types="R", loops=loops), StrategyReport()
        counted = strategy_for(context, graph).count(plan, NO_MASKS, report)
        assert counted == all_embeddings(graph, plan).total()
        assert "counted although these may be equal: (n0), (n3)" in report.steps
        expected = expected_groups(graph, plan, (0, 1))
        assert groups(context, graph, plan, (0, 1)) == expected
        all_counted += counted
    assert all_counted


@needs_device
@pytest.mark.device
@given(case=branched_queries(alike=True), data=st.data())
def test_random_queries_with_distinct_nodes_equal_the_reference(context, case, data):
    graph, plan, masks, _ = case
    nodes = st.integers(0, len(plan.bound.nodes) - 1)
    ends = data.draw(st.lists(st.tuples(nodes, nodes), min_size=1, max_size=3))
    tests = [RowTest(True, *sorted(each), False) for each in ends]
    bound = replace(plan.bound, tests=(*plan.bound.tests, *tests))
    plan = replace(plan, bound=bound)
    counted, terms = count(context, graph, plan, masks)
    event("added up" if terms else "not added up")
    assert counted == all_embeddings(graph, plan, masks).total()


@pytest.mark.slow
@needs_device
@pytest.mark.device
@pytest.mark.parametrize("nodes", [(0,), (1,), (2,), (0, 4), (1, 3), (0, 1, 2), (0, 1, 3, 4)])
@pytest.mark.parametrize("name", ["two triangles at a node", "an undirected path of 4"])
def test_grouped_sums_of_signed_terms_equal_the_reference(context, name, nodes):
    plan, all_counted = plan_of(SUMS[name]), 0
    for seed in range(2):
        graph, report = a_graph(seed, relationships=16, types="R"), StrategyReport()
        expected = expected_groups(graph, plan, nodes)
        assert groups(context, graph, plan, nodes, report=report) == expected
        all_counted += expected.total()
        # Grouping keys cannot be beyond a root.
        is_sum = any("equal" in each for each in report.steps)
        assert is_sum or len(nodes) > 1
        # The distinct tuples follow from their counts.
        report = StrategyReport()
        distinct = groups(context, graph, plan, nodes, report=report, counted=False)
        assert distinct == Counter(set(expected))
        assert any("equal" in each for each in report.steps) == is_sum
    assert all_counted


@needs_device
@pytest.mark.device
def test_saturated_terms_are_not_summed(context, monkeypatch):
    plan, graph = plan_of(SUMS["two triangles at a node"]), a_graph(1, relationships=16, types="R")
    expected = all_embeddings(graph, plan).total()
    monkeypatch.setattr(module, "MAX_WEIGHT", expected)
    report = StrategyReport()
    strategy = strategy_for(context, graph)
    assert strategy.count(plan, NO_MASKS, report) == expected > 0
    assert any("equal" in each for each in report.steps)
    assert "equal" not in report.steps[-1]
    again = StrategyReport()
    assert strategy.count(plan, NO_MASKS, again) == expected


@needs_device
@pytest.mark.device
def test_groups_with_saturated_terms_are_joined(context, monkeypatch):
    """A saturated count cannot be subtracted from."""
    plan, graph = plan_of(SUMS["two triangles at a node"]), a_graph(1, relationships=16, types="R")
    expected = expected_groups(graph, plan, (0,))
    monkeypatch.setattr(module, "MAX_WEIGHT", max(expected.values()))
    report = StrategyReport()
    assert groups(context, graph, plan, (0,), report=report) == expected
    assert any("equal" in each for each in report.steps)
    assert any(each.startswith("rows counted by (n0)") for each in report.steps[-2:])
    distinct = groups(context, graph, plan, (0,), counted=False)
    assert distinct == Counter(set(expected))


# ------------------------------------------------------------------ when sums are used
TWO_TRIANGLES = SUMS["two triangles at a node"]


@needs_device
@pytest.mark.device
def test_compared_nodes_are_joined(context):
    plan = plan_of(TWO_TRIANGLES)
    less = Comparison(Variable(True, 1), Variable(True, 3), BELOW, None, None, 0.5, "")
    graph = a_graph(1, relationships=14, types="R")
    expected = sum(
        times for (nodes, _), times in all_embeddings(graph, plan).items() if nodes[1] < nodes[3]
    )
    assert count(context, graph, plan, Masks({}, {}, (less,))) == (expected, 0)


@needs_device
@pytest.mark.device
@pytest.mark.parametrize(
    "changes", [{"part_pairs": math.inf}, {"part_gain": 0}, {"max_dropped_tests": 2}]
)
def test_only_sums_that_pay_are_used(context, changes):
    plan, graph = plan_of(TWO_TRIANGLES), a_graph(1, relationships=14, types="R")
    expected = all_embeddings(graph, plan).total()
    assert count(context, graph, plan)[1] > 1
    assert count(context, graph, plan, **changes) == (expected, 0)


@needs_device
@pytest.mark.device
def test_a_repeated_sum_gives_the_same_count(context):
    plan, graph = plan_of(TWO_TRIANGLES), a_graph(2, relationships=14, types="R")
    strategy, expected = strategy_for(context, graph), all_embeddings(graph, plan)
    for _ in range(3):
        assert strategy.count(plan, NO_MASKS, StrategyReport()) == expected.total() > 0


@needs_device
@pytest.mark.device
def test_a_sum_describes_its_terms(context):
    plan, graph = plan_of(TWO_TRIANGLES), a_graph(2, relationships=14, types="R")
    report = StrategyReport()
    strategy_for(context, graph).count(plan, NO_MASKS, report)
    said = [each for each in report.steps if "equal" in each]
    assert said[0].startswith("counted although these may be equal: (n0)-[r0:R]->(n1), ")
    assert any(each.startswith("minus the embeddings where these are equal: ") for each in said)
    assert {*report.candidates} == {*range(5)}
    assert {"filter", "join"} <= {*report.timings}


@needs_device
@pytest.mark.device
def test_a_sum_ends_at_its_deadline(context):
    plan, graph = plan_of(TWO_TRIANGLES), a_graph(2, relationships=14, types="R")
    strategy = strategy_for(context, graph)
    with pytest.raises(QueryTimeoutError):
        strategy.count(plan, NO_MASKS, StrategyReport(), time.monotonic())
    assert strategy.count(plan, NO_MASKS, StrategyReport()) == all_embeddings(graph, plan).total()
