"""Self-loops of the query are joined only if being a candidate does not imply all of them."""

from __future__ import annotations

import pytest
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, found_by, make_plan
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Rows

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

SELECTIVE, UNSELECTIVE = 1.0, 1e6


def counted(context, graph, plan):
    """The number of rows, and the steps that made them."""
    report = StrategyReport()
    rows = ExtendStrategy(DeviceGraph(context, graph)).count(plan, NO_MASKS, report)
    return rows, report.steps


def path_with_loops(cardinality):
    nodes = [Node(cardinality=cardinality)] * 2
    ends = [(0, 0), (0, 1), (1, 1)]
    return make_plan(nodes, [Relationship(*each, types=(0,)) for each in ends])


def chain(loops):
    """Five nodes, each with a relationship to the next one and the given number of self-loops."""
    rows = [(node, "R", node + 1, {}) for node in range(4)]
    return make_graph(
        [("", {})] * 5, rows + [(node, "R", node, {}) for node in range(5) for _ in range(loops)]
    )


def test_loops_of_explored_candidates_are_not_joined(context):
    rows, steps = counted(context, chain(1), path_with_loops(SELECTIVE))
    assert rows == 4
    assert not any("close" in step for step in steps)


def test_unexplored_loops_are_joined(context):
    rows, steps = counted(context, chain(1), path_with_loops(UNSELECTIVE))
    assert rows == 4
    assert any("close" in step for step in steps)


def test_parallel_loops_are_joined(context):
    rows, steps = counted(context, chain(2), path_with_loops(SELECTIVE))
    assert rows == 4 * 2 * 2
    assert any("close" in step for step in steps)


def test_two_loops_at_a_node_are_distinct(context):
    plan = make_plan([Node()], [Relationship(0, 0, (0,)), Relationship(0, 0, (0,))])
    assert counted(context, chain(1), plan)[0] == 0
    assert counted(context, chain(2), plan)[0] == 5 * 2


@st.composite
def looped(draw):
    size = draw(st.integers(5, 9))
    node = st.integers(0, size - 1)
    rows = draw(
        st.lists(st.tuples(node, st.sampled_from("RS"), node), min_size=4, max_size=20, unique=True)
    )
    always = [(0, "S", 1), *((each, "R", each) for each in range(size))]
    rows += [row for row in always if row not in rows]
    graph = make_graph([("", {})] * size, [(*row, {}) for row in rows])
    asked = draw(st.integers(1, 3))
    position = st.integers(0, asked - 1)
    types = st.sampled_from([(0,), (1,), (0, 1), None])
    relationships = [
        Relationship(*draw(st.tuples(position, position)), draw(types), draw(st.booleans()))
        for _ in range(draw(st.integers(0, 3)))
    ]
    relationships += [Relationship(each, each, draw(types)) for each in range(asked)]
    cardinality = draw(st.sampled_from([SELECTIVE, UNSELECTIVE]))
    plan = make_plan([Node(cardinality=cardinality)] * asked, relationships)
    known = draw(st.frozensets(st.integers(0, len(relationships) - 1)))
    return graph, plan, Rows(frozenset(range(asked)), known)


@given(case=looped())
def test_random_loops_equal_the_reference(context, case):
    graph, plan, wanted = case
    expected = all_embeddings(graph, plan)
    strategy = ExtendStrategy(DeviceGraph(context, graph))
    assert found_by(strategy, plan, NO_MASKS).total() == expected.total()
    assert strategy.count(plan, NO_MASKS, StrategyReport()) == expected.total()
    found = found_by(strategy, plan, NO_MASKS, wanted)
    assert found.total() == expected.total()
