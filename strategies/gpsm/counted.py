"""Replaces the estimates of a pattern by counted candidates."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.plan.plan import BoundQuery

__all__ = ["with_counted"]


def with_counted(
    bound: BoundQuery,
    node_count: Callable[[int], int],
    relationship_counts: Mapping[int, int],
) -> BoundQuery:
    """The pattern with counted cardinalities; its order is planned again with these.

    Args:
        bound: The pattern.
        node_count: Number of candidates per position of a query node.
        relationship_counts: Number of candidate relationships per position.
    """
    nodes = [replace(each, cardinality=float(node_count(each.position))) for each in bound.nodes]
    relationships = [
        replace(each, cardinality=float(relationship_counts[each.position]))
        for each in bound.relationships
    ]
    return replace(bound, nodes=tuple(nodes), relationships=tuple(relationships))
