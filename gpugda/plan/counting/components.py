"""Factors of a count: independent parts of a query are counted separately and multiplied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan.counting.clashes import is_distinctness_test
from gpugda.plan.counting.count_plan import Part
from gpugda.plan.join.join_order import connected_components

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.counting.clashes import Clashes
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.plan.plan import BoundQuery

__all__ = ["find_factors"]


def find_factors(problem: CountProblem, clashes: Clashes) -> list[Part]:
    """The independent parts of a pattern; empty if there is only one part.

    Also empty if grouping keys would fall into several parts.

    Args:
        problem: The count problem.
        clashes: The clashes of its relationships.
    """
    groups = _groups(problem.bound, clashes)
    keys_are_split = sum(not set(problem.grouped).isdisjoint(each) for each in groups) > 1
    if problem.masks.comparisons or len(groups) == 1 or keys_are_split:
        return []
    return [_part(problem, each) for each in groups]


def _groups(bound: BoundQuery, clashes: Clashes) -> list[list[int]]:
    """Connected components of the query nodes, by relationships, tests and clashes."""
    links = bound.relationships
    pairs = [(each.source, each.target) for each in links]
    for test in bound.tests:
        if test.on_nodes:
            pairs.append((test.left, test.right))
        elif not is_distinctness_test(test) or clashes(test.left, test.right):
            pairs.append((links[test.left].source, links[test.right].source))
    return connected_components(len(bound.nodes), pairs)


def _part(problem: CountProblem, nodes: Sequence[int]) -> Part:
    bound = problem.bound
    node_at = {node: place for place, node in enumerate(nodes)}
    links = [each for each in bound.relationships if each.source in node_at]
    link_at = {each.position: place for place, each in enumerate(links)}
    own = replace(
        bound,
        nodes=tuple(replace(bound.nodes[node], position=place) for place, node in enumerate(nodes)),
        relationships=tuple(
            replace(each, position=place, source=node_at[each.source], target=node_at[each.target])
            for place, each in enumerate(links)
        ),
        tests=tuple(
            test._replace(left=places[test.left], right=places[test.right])
            for test in bound.tests
            for places in (node_at if test.on_nodes else link_at,)
            if test.left in places and test.right in places
        ),
    )
    return Part(
        own,
        tuple((node,) for node in nodes),
        tuple((each.position,) for each in links),
        tuple(problem.candidates.count(node) for node in nodes),
        tuple(node_at[node] for node in problem.grouped if node in node_at),
    )
