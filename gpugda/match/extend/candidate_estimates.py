"""Decides whether exploring neighbours of candidates is worth its cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.plan.cardinality import label_share
from gpugda.plan.join_order import join_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.encode import Exploration
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship
    from gpugda.thresholds import FilterLimits

__all__ = ["exploration_pays", "selects_nothing", "with_counted_cardinalities"]

_SELECTIVE_SHARE = 0.25
"""Share of all nodes or relationships. The neighbours of more are most nodes anyway."""
_SOMEWHAT_SELECTIVE_SHARE = 0.75
"""Up to this share, a candidate may still lack neighbours, if few nodes of its label have them."""
_JOIN_COST_PER_LOOK, _JOIN_COST_PER_DOUBTFUL_LOOK = 2, 8
"""Expected cost of a join, per neighbour read, from which exploring pays off."""


def selects_nothing(masks: Masks) -> bool:
    """True if a predicate holds for no node, or for no relationship, at all."""
    return any(
        not np.any(mask) for each in (masks.nodes, masks.relationships) for mask in each.values()
    )


def with_counted_cardinalities(bound: BoundQuery, masks: Masks, graph: DataGraph) -> BoundQuery:
    """The query with cardinalities corrected by the counts that the predicates select."""
    if not masks.nodes and not masks.relationships:
        return bound
    nodes = tuple(_counted_node(each, masks, graph) for each in bound.nodes)
    shares = [
        new.cardinality / max(old.cardinality, 1.0)
        for new, old in zip(nodes, bound.nodes, strict=True)
    ]
    relationships = tuple(
        _counted_relationship(each, masks, shares) for each in bound.relationships
    )
    return replace(bound, nodes=nodes, relationships=relationships)


def exploration_pays(
    exploration: Exploration,
    graph: DataGraph,
    leaves: Callable[[], Collection[int]],
    limits: FilterLimits,
) -> bool:
    """True if candidates without a matching neighbour should be removed.

    If something is selective and there is little to read, exploration is cheap, while estimates of
    the join may be far too low. Otherwise the join must be expected to cost more; much more if
    each query node has many candidates.

    Args:
        exploration: The exploration of the query `with_counted_cardinalities`.
        graph: The data graph.
        leaves: Returns the query nodes that are multiplied, not joined; called only if needed.
        limits: Limits of what is cheap.
    """
    if limits.explores is not None:
        return limits.explores
    bound = exploration.bound
    share = _smallest_share(bound, graph)
    if share >= _SOMEWHAT_SELECTIVE_SHARE:
        return False
    looks, cost = exploration.looks, _JOIN_COST_PER_DOUBTFUL_LOOK
    if share < _SELECTIVE_SHARE:
        if looks <= limits.cheap_entries:
            return True
        cost = _JOIN_COST_PER_LOOK
    return join_cost(bound, leaves()) > cost * looks


def _smallest_share(bound: BoundQuery, graph: DataGraph) -> float:
    """The smallest share of all nodes that are candidates, or of relationships with predicates."""
    nodes = min((each.cardinality for each in bound.nodes), default=0.0)
    selected = [each.cardinality for each in bound.relationships if each.predicates]
    of_relationships = min(selected) / max(graph.relationship_count, 1) if selected else 1.0
    return min(nodes / max(graph.node_count, 1), of_relationships)


def _counted_node(node: BoundNode, masks: Masks, graph: DataGraph) -> BoundNode:
    mask = masks.nodes.get(node.position)
    if mask is None:
        return node
    labelled = label_share(node.labels, graph.statistics) * graph.node_count
    return replace(node, cardinality=min(labelled, float(_bits(mask))))


def _counted_relationship(
    each: BoundRelationship, masks: Masks, shares: list[float]
) -> BoundRelationship:
    ends = {each.source, each.target}
    count = each.cardinality
    for end in ends:
        count *= shares[end]
    mask = masks.relationships.get(each.position)
    if mask is not None:
        count = min(count, float(_bits(mask)) * (1 if each.directed else 2))
    return replace(each, cardinality=count)


def _bits(mask: NDArray[np.uint32]) -> int:
    return int(np.bitwise_count(mask).sum(dtype=np.int64))
