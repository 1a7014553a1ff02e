"""Triangles summed by one of their nodes, against trying every assignment."""

from __future__ import annotations

import numpy as np
import pytest
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, make_plan, some_masks
from counted_groups import expected_groups
from counted_groups import groups as groups_of
from forced_plans import TABLES, thresholds
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.special import tasks
from gpugda.match.special.triangle_sums import find_triangle_at
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

TRIANGLE = ((0, 1), (1, 2), (2, 0))
SAID = "triangles counted without rows"
LABELLED = ((LabelOp.LABEL, 0),)


def count(context, graph, plan, masks=NO_MASKS):
    report = StrategyReport()
    decides = thresholds(context, TABLES, {"cyclic_growth": 0})
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    return strategy.count(plan, masks, report), list(report.steps)


def links(pairs, directed=False, types=(0,), clause=0):
    return [Relationship(one, other, types, directed, clause) for one, other in pairs]


TAILS = {"a leaf": ((0, 3),), "a path": ((0, 3), (3, 4)), "a triangle": ((0, 3), (3, 4), (4, 0))}
PARALLEL = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 3), (3, 0), (3, 0), (0, 3), (2, 0), (4, 0), (3, 4)]


def some_graph():
    ends = [(a, "R", b, {}) for a, b in PARALLEL] + [(a, "S", b, {}) for a, b in PARALLEL]
    return make_graph([("", {})] * 5, ends)


@pytest.mark.one_split
@pytest.mark.parametrize("clauses", [(0, 0, 0), (0, 0, 1)])
@pytest.mark.parametrize("name", TAILS)
def test_a_triangle_is_not_enumerated(context, name, clauses):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    pairs = zip(TRIANGLE, clauses, strict=True)
    triangle = [Relationship(*ends, (0,), False, clause) for ends, clause in pairs]
    nodes = [Node()] * (1 + max(map(max, TAILS[name])))
    plan = make_plan(nodes, triangle + links(TAILS[name], types=(1,), clause=2))
    found, steps = count(context, some_graph(), plan)
    assert found == all_embeddings(some_graph(), plan).total() > 0
    assert SAID in steps


def test_triangles_are_grouped_by_their_nodes(context):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    plan, graph, report = make_plan([Node()] * 3, links(TRIANGLE)), some_graph(), StrategyReport()
    decides = thresholds(context, TABLES)
    found = groups_of(context, graph, plan, (1,), report=report, thresholds=decides)
    assert found == expected_groups(graph, plan, (1,))
    assert SAID in report.steps


def test_rows_are_made_without_memory_for_marks(context, monkeypatch):
    monkeypatch.setattr(tasks, "_SHARE_FOR_SCRATCH", 0)
    plan = make_plan([Node()] * 4, links(TRIANGLE) + links(TAILS["a leaf"], types=(1,)))
    found, steps = count(context, some_graph(), plan)
    assert found == all_embeddings(some_graph(), plan).total()
    assert SAID not in steps


@pytest.mark.parametrize("first", [0, 1])
def test_suitable_triangles_are_found(first):
    bound = make_plan([Node()] * 3, links(TRIANGLE), [RowTest(True, 0, 2, False)]).bound
    assert find_triangle_at(bound, {0, 1, 2}, first, some_graph(), NO_MASKS) == (0,)


NODES, MASK = [Node()] * 4, np.array([7], dtype=np.uint32)
ALL = links([*TRIANGLE, (0, 3)])


@pytest.mark.parametrize(
    ("nodes", "relationships", "tests", "inside", "masks"),
    [
        (NODES, ALL, [RowTest(True, 0, 2, True)], {0, 1, 2}, NO_MASKS),
        (NODES, ALL, [RowTest(False, 0, 1, True)], {0, 1, 2}, NO_MASKS),
        (NODES, ALL, [RowTest(True, 1, 3, False)], {0, 1, 2}, NO_MASKS),
        (NODES, ALL, [], {0, 1, 3}, NO_MASKS),
        (NODES, ALL, [], {0, 1, 2, 3}, NO_MASKS),
        (NODES, links(TRIANGLE, directed=True), [], {0, 1, 2}, NO_MASKS),
        (NODES, [*links(TRIANGLE[:2]), *links(TRIANGLE[2:], types=(1,))], [], {0, 1, 2}, NO_MASKS),
        (NODES, links(TRIANGLE, types=None), [], {0, 1, 2}, NO_MASKS),
        ([Node(), Node(LABELLED), Node()], ALL[:3], [], {0, 1, 2}, NO_MASKS),
        ([Node(), Node(LABELLED), Node(LABELLED)], ALL[:3], [], {0, 1, 2}, NO_MASKS),
        (NODES, ALL, [], {0, 1, 2}, Masks({1: MASK}, {})),
        (NODES, ALL, [], {0, 1, 2}, Masks({}, {1: MASK})),
    ],
)
def test_unsuitable_patterns_are_refused(nodes, relationships, tests, inside, masks):
    bound = make_plan(nodes, relationships, tests).bound
    graph = make_graph([("", {})] * 3, [(0, "R", 1, {}), (1, "S", 1, {}), (1, "S", 2, {})])
    assert find_triangle_at(bound, inside, 0, graph, masks) is None


@st.composite
def triangle_queries(draw):
    """A triangle with labels and types, and up to three further relationships, no self-loops."""
    label = draw(st.sampled_from([(), (), LABELLED]))
    kinds = draw(st.sampled_from([None, (0,), (0,), (0, 1)]))
    ends = []
    for number in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, 2 + number))
        ends.append(draw(st.permutations([at, 3 + number])))
    nodes = [Node(label)] * 3 + [Node(draw(st.sampled_from([(), LABELLED]))) for _ in ends]
    if draw(st.booleans()):
        nodes[draw(st.integers(0, 2))] = Node(LABELLED)
    made = links(TRIANGLE, types=kinds)
    made += [
        Relationship(a, b, draw(st.sampled_from([(1,), (0,), None])), draw(st.booleans()))
        for a, b in ends
    ]
    tests = [RowTest(True, 0, 2, False)] if draw(st.booleans()) else []
    plan = make_plan(nodes, made, tests)
    count = draw(st.integers(2, 5))
    node = st.integers(0, count - 1)
    some = draw(st.lists(st.tuples(node, st.sampled_from("RS"), node), max_size=11))
    if draw(st.booleans()):
        some = [each for each in some if each[0] != each[2]]
    labels = ["A", *(draw(st.sampled_from(["A", "A", ""])) for _ in range(count - 1))]
    types = [(0, "R", 1, {}), (1, "S", 0, {})]
    graph = make_graph([(each, {}) for each in labels], [*types, *((*e, {}) for e in some)])
    return graph, plan, draw(some_masks(graph, len(nodes), len(made)))


@given(asked=triangle_queries())
def test_random_triangles_equal_the_reference(context, asked):
    graph, plan, masks = asked
    assert count(context, graph, plan, masks)[0] == all_embeddings(graph, plan, masks).total()
