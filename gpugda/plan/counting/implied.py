"""Removes tests between nodes that the distinctness of relationships implies.

If no two data nodes have two relationships between them, ``(a)--(b)--(c)`` implies ``a <> c``: if
they were one node, its relationship to ``b`` would occur twice. Without the test, ``a`` is a leaf
that a degree message can eliminate.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan.row_tests import max_in_both_directions, type_ids

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["without_implied"]


def without_implied(bound: BoundQuery, graph: DataGraph) -> BoundQuery:
    """The pattern without implied tests; the same object if there are none.

    Args:
        bound: The pattern.
        graph: The data graph; its parallel relationships are counted only if it may matter.
    """
    implied = {each for each in bound.tests if each.on_nodes and _is_implied(each, bound, graph)}
    if not implied:
        return bound
    return replace(bound, tests=tuple([each for each in bound.tests if each not in implied]))


def _is_implied(test: RowTest, bound: BoundQuery, graph: DataGraph) -> bool:
    if test.equal or test.left == test.right:
        return False
    at_left = _links_by_other_end(bound, test.left)
    at_right = _links_by_other_end(bound, test.right)
    return any(
        _differ(one, other, bound, graph) and max_in_both_directions((one, other), graph) <= 1
        for end in at_left.keys() & at_right.keys()
        for one in at_left[end]
        for other in at_right[end]
    )


def _links_by_other_end(bound: BoundQuery, node: int) -> dict[int, list[BoundRelationship]]:
    found: dict[int, list[BoundRelationship]] = {}
    for each in bound.relationships:
        if node in (each.source, each.target) and each.source != each.target:
            found.setdefault(each.other_end(node), []).append(each)
    return found


def _differ(
    one: BoundRelationship, other: BoundRelationship, bound: BoundQuery, graph: DataGraph
) -> bool:
    positions = {one.position, other.position}
    if len(positions) == 1:
        return False
    if not type_ids(one, graph) & type_ids(other, graph):
        return True
    return any(
        not each.on_nodes and not each.equal and {each.left, each.right} == positions
        for each in bound.tests
    )
