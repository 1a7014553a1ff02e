"""The order of nodes in cycles, whose closing relationships remove rows."""

from __future__ import annotations

from dataclasses import replace

from bound_queries import Node, Relationship, make_plan
from gpugda_strategies.gsi.options import GsiOptions, ablation_steps
from gpugda_strategies.gsi.order import node_order, order_of_cycles

HOUSE = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)]
"""A square with a triangle on the side of nodes 0 and 1."""


def pattern(nodes, ends, cardinality=5_000.0):
    bound = make_plan([Node((), 1000.0)] * nodes, [Relationship(*each) for each in ends]).bound
    return replace(
        bound,
        relationships=tuple(replace(e, cardinality=cardinality) for e in bound.relationships),
    )


def test_triangles_are_closed_before_squares():
    found = order_of_cycles(pattern(5, HOUSE), [1000.0] * 5)
    assert {node for node, _ in found[:3]} == {0, 1, 4}
    assert [is_first for _, is_first in found] == [True, False, False, False, False]


def test_the_papers_score_takes_a_relationship_that_closes_for_one_that_makes_rows():
    bound = pattern(5, HOUSE)
    order = node_order(bound, lambda _: 1000.0, lambda each: each.cardinality)
    assert {node for node, _ in order[:3]} != {0, 1, 4}


def test_few_candidates_come_first():
    counts = [1000.0, 1000.0, 1000.0, 2.0, 1000.0]
    assert order_of_cycles(pattern(5, HOUSE), counts)[0] == (3, True)


def test_components_follow_each_other():
    ends = [(0, 1), (1, 2), (2, 0), (3, 4)]
    found = order_of_cycles(pattern(5, ends), [1000.0] * 5)
    assert [node for node, is_first in found if is_first] in ([0, 3], [1, 3], [2, 3])
    assert {node for node, _ in found[:3]} == {0, 1, 2}


def test_trees_and_large_patterns_keep_the_score():
    assert order_of_cycles(pattern(4, [(0, 1), (1, 2), (1, 3)]), [1000.0] * 4) is None
    assert order_of_cycles(pattern(2, [(0, 1), (1, 1)]), [1000.0] * 2) is None
    ring = [(at, (at + 1) % 12) for at in range(12)]
    assert order_of_cycles(pattern(12, ring), [1000.0] * 12) is None


def test_the_papers_techniques_are_compared_with_its_score():
    assert GsiOptions().closing_order
    assert not any(each.closing_order for each in ablation_steps().values())
