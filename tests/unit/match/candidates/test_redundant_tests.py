"""Tests that masks make redundant are dropped."""

from __future__ import annotations

import numpy as np
import pytest
from bound_queries import Node, Relationship, all_embeddings, make_plan
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.candidates.redundant_tests import drop_redundant_tests
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan.plan import RowTest

PATH = [Relationship(0, 1, (0,)), Relationship(1, 2, (0,)), Relationship(2, 3, (0,))]


def masks(**bits):
    """Masks of relationships, given the bits of each."""
    return Masks(
        {}, {int(name[1:]): np.array([each], dtype=np.uint32) for name, each in bits.items()}
    )


def test_relationships_with_disjoint_masks_need_no_test():
    plan = make_plan([Node()] * 4, PATH, [RowTest(True, 0, 3, False)])
    found = drop_redundant_tests(plan, masks(r0=0b0011, r1=0b0110, r2=0b1100))
    assert set(plan.bound.tests) - set(found.bound.tests) == {RowTest(False, 0, 2, False)}


def test_the_plan_without_redundant_tests_is_cached():
    plan = make_plan([Node()] * 4, PATH)
    first, second = (drop_redundant_tests(plan, masks(r0=1, r1=each)) for each in (2, 4))
    assert first is second is not plan
    assert drop_redundant_tests(make_plan([Node()] * 4, PATH), masks(r0=1, r1=2)) is not first


@pytest.mark.parametrize("bits", [{}, {"r0": 1}, {"r0": 3, "r1": 6, "r2": 7}])
def test_relationships_that_may_be_equal_are_tested(bits):
    plan = make_plan([Node()] * 4, PATH)
    assert drop_redundant_tests(plan, masks(**bits)) is plan


def test_relationships_that_must_be_equal_are_tested():
    plan = make_plan([Node()] * 4, PATH, [RowTest(False, 0, 1, True)])
    found = drop_redundant_tests(plan, masks(r0=1, r1=2))
    assert RowTest(False, 0, 1, True) in found.bound.tests


@st.composite
def masked_paths(draw):
    nodes = draw(st.integers(1, 5))
    node = st.integers(0, nodes - 1)
    rows = draw(st.lists(st.tuples(node, st.sampled_from("RS"), node), min_size=1, max_size=12))
    graph = make_graph([("", {})] * nodes, [(*row, {}) for row in rows])
    any_types = [None, (0,), (1,)][: 1 + len(graph.types)]
    links = [
        Relationship(*pair, draw(st.sampled_from(any_types)), draw(st.booleans()))
        for pair in ((0, 1), (1, 2), draw(st.sampled_from([(2, 3), (1, 3), (2, 0)])))
    ]
    size = 1 + max(max(each.source, each.target) for each in links)
    # In three parts, so that some are disjoint.
    part = draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows)))
    bits = {
        f"r{link}": sum(1 << at for at, each in enumerate(part) if each in allowed)
        for link, allowed in enumerate(draw(st.lists(st.sets(st.integers(0, 2)), max_size=3)))
    }
    return graph, make_plan([Node()] * size, links), masks(**bits)


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@given(masked_paths())
def test_masked_relationships_are_counted(context, case):
    graph, plan, found = case
    fewer = drop_redundant_tests(plan, found)
    counted = ExtendStrategy(DeviceGraph(context, graph)).count(fewer, found, StrategyReport())
    assert counted == all_embeddings(graph, plan, found).total()
