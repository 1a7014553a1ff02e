"""Squares summed by one of their nodes, against trying every assignment."""

from __future__ import annotations

import pytest
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, make_plan
from counted_groups import expected_groups
from counted_groups import groups as groups_of
from forced_plans import PARTS, TABLES, thresholds
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.special import tasks
from gpugda.match.special.square_sums import find_square_at
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

SQUARE = ((0, 1), (1, 2), (2, 3), (3, 0))
SAID = "cycle of 4 nodes counted without rows"
FORM = TABLES | PARTS


def count(context, graph, plan, **changes):
    report = StrategyReport()
    decides = thresholds(context, FORM, changes)
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    return strategy.count(plan, NO_MASKS, report), list(report.steps)


def links(pairs, directed=True, types=(0,), clause=0):
    return [Relationship(one, other, types, directed, clause) for one, other in pairs]


TAILS = {
    "a path": ((0, 4), (4, 5)),
    "two leaves": ((0, 4), (5, 0)),
    "another square": ((0, 4), (4, 5), (5, 6), (6, 0)),
    "a triangle": ((0, 4), (4, 5), (5, 0)),
}
PARALLEL = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 3), (3, 0), (3, 0), (0, 3), (2, 1), (4, 0), (2, 2)]


@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
@pytest.mark.parametrize("name", TAILS)
def test_a_square_is_not_enumerated(context, name, directed):
    plan = make_plan(
        [Node()] * (1 + max(map(max, TAILS[name]))),
        links(SQUARE, directed) + links(TAILS[name], types=(1,)),
    )
    ends = [(a, "R", b, {}) for a, b in PARALLEL] + [(a, "S", b, {}) for a, b in PARALLEL]
    graph = make_graph([("", {})] * 5, ends)
    found, steps = count(context, graph, plan)
    assert found == all_embeddings(graph, plan).total() > 0
    assert SAID in steps


def test_squares_are_grouped_by_their_nodes(context):
    plan = make_plan([Node()] * 4, links(SQUARE, directed=False))
    graph = make_graph([("", {})] * 5, [(a, "R", b, {}) for a, b in PARALLEL])
    report = StrategyReport()
    decides = thresholds(context, FORM)
    found = groups_of(context, graph, plan, (2,), report=report, thresholds=decides)
    assert found == expected_groups(graph, plan, (2,))
    assert SAID in report.steps


@pytest.mark.parametrize(
    ("tests", "inside"),
    [
        ([RowTest(True, 0, 2, False)], {0, 1, 2, 3}),
        ([RowTest(False, 0, 2, True)], {0, 1, 2, 3}),
        ([], {0, 1, 2}),
        ([], {0, 1, 2, 4}),
    ],
)
def test_unsuitable_patterns_are_refused(tests, inside):
    graph = make_graph([("", {})] * 5, [(a, "R", b, {}) for a, b in PARALLEL])
    bound = make_plan([Node()] * 5, links([*SQUARE, (0, 4)]), tests).bound
    assert find_square_at(bound, {0, 1, 2, 3}, 0, graph, NO_MASKS) is None or not tests
    assert find_square_at(bound, inside, 0, graph, NO_MASKS) is None


def test_rows_are_made_without_memory_for_marks(context, monkeypatch):
    monkeypatch.setattr(tasks, "_SHARE_FOR_SCRATCH", 0)
    plan = make_plan([Node()] * 6, links(SQUARE) + links(TAILS["a path"], types=(1,)))
    ends = [(a, kind, b, {}) for a, b in PARALLEL for kind in "RS"]
    graph = make_graph([("", {})] * 5, ends)
    found, steps = count(context, graph, plan)
    assert found == all_embeddings(graph, plan).total()
    assert SAID not in steps


@st.composite
def square_queries(draw):
    """A square with any labels, types and directions, and up to three further relationships."""
    kinds = st.sampled_from([None, (0,), (1,), (0, 1)])
    label = st.sampled_from([(), (), ((LabelOp.LABEL, 0),)])
    ends = list(SQUARE)
    for number in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, 3 + number))
        ends.append(draw(st.permutations([at, 4 + number])))
    nodes = 1 + max(max(each) for each in ends)
    turned = [tuple(draw(st.permutations(each))) if draw(st.booleans()) else each for each in ends]
    made = [Relationship(a, b, draw(kinds), draw(st.booleans())) for a, b in turned]
    if draw(st.booleans()):
        made = [Relationship(a, b, (0,), True) for a, b in ends]
    plan = make_plan([Node(draw(label)) for _ in range(nodes)], made)
    count = draw(st.integers(2, 5))
    node = st.integers(0, count - 1)
    some = draw(st.lists(st.tuples(node, st.sampled_from("RS"), node), max_size=11))
    labels = [draw(st.sampled_from(["A", ""])) for _ in range(count)]
    types = [(0, "R", 1, {}), (1, "S", 0, {})]
    return make_graph([(each, {}) for each in labels], [*types, *((*e, {}) for e in some)]), plan


@pytest.mark.slow
@given(asked=square_queries())
def test_square_sums_equal_enumeration(context, asked):
    graph, plan = asked
    assert count(context, graph, plan)[0] == all_embeddings(graph, plan).total()
