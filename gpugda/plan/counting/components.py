"""Parts of a query that nothing connects: each is counted by itself, and the counts multiplied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan.counting.count_plan import Part
from gpugda.plan.counting.degree_messages import keeps_apart
from gpugda.plan.join_order import connected

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.row_tests import Meetings

__all__ = ["find_factors"]


def find_factors(
    bound: BoundQuery,
    masks: Masks,
    counts: Sequence[int],
    grouped: Sequence[int],
    meetings: Meetings,
) -> list[Part]:
    """The parts that do not depend on each other; none where all is one part.

    None, too, where query nodes that are grouped by would be in several.

    Args:
        bound: The query.
        masks: What predicates leave.
        counts: Candidates of each query node.
        grouped: Query nodes that are grouped by.
        meetings: Of the query. Relationships that cannot meet differ in any case.
    """
    groups = _groups(bound, meetings)
    are_apart = sum(not set(grouped).isdisjoint(each) for each in groups) > 1
    if masks.comparisons or len(groups) == 1 or are_apart:
        return []
    return [_part(bound, counts, grouped, each) for each in groups]


def _groups(bound: BoundQuery, meetings: Meetings) -> list[list[int]]:
    """Query nodes that are connected, or tested together."""
    links = bound.relationships
    pairs = [(each.source, each.target) for each in links]
    for test in bound.tests:
        if test.on_nodes:
            pairs.append((test.left, test.right))
        elif not keeps_apart(test) or meetings.can_meet(links[test.left], links[test.right]):
            pairs.append((links[test.left].source, links[test.right].source))
    return connected(len(bound.nodes), pairs)


def _part(
    bound: BoundQuery,
    counts: Sequence[int],
    grouped: Sequence[int],
    nodes: Sequence[int],
) -> Part:
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
        tuple(counts[node] for node in nodes),
        tuple(node_at[node] for node in grouped if node in node_at),
    )
