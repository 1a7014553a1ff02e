"""Unrolls expansions over a few lengths into fixed-length patterns, one per length.

If only the number of paths is needed, the join counts such patterns without creating their rows.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from gpugda.plan import logical
from gpugda.query.ast import Direction
from gpugda.query.query_graph import (
    QueryNode,
    QueryRelationship,
    anonymous_node_name,
    anonymous_relationship_name,
)

if TYPE_CHECKING:
    from gpugda.query.query_graph import QueryGraph

__all__ = ["unrolled"]

_LONGEST: Final = 4
_FIRST_NUMBER: Final = 1 << 24
"""First number for names of added elements, far above the query's own numbers."""


def unrolled(tree: logical.Expand, needed: frozenset[str]) -> tuple[logical.Match, ...] | None:
    """Patterns whose rows together equal those of an expansion; None if paths must be walked.

    Args:
        tree: An expansion of trails.
        needed: Columns that operators above read.
    """
    below = tree.input
    if not isinstance(below, logical.Match) or not isinstance(below.input, logical.Unit):
        return None
    maximum = tree.maximum
    if tree.mode is not logical.ExpandMode.TRAILS or maximum is None or maximum > _LONGEST:
        return None
    conditional = tree.predicates or tree.tests or tree.path_predicates or tree.step
    if conditional or tree.relationships in needed or not 1 <= tree.minimum <= maximum:
        return None
    beside = {each.name for each in below.graph.relationships if each.clause == tree.clause}
    if not beside.issuperset(tree.apart):
        return None
    if all(node.name != tree.start for node in below.graph.nodes):
        return None
    lengths = range(tree.minimum, maximum + 1)
    return tuple(replace(below, graph=_chained(below.graph, tree, k)) for k in lengths)


def _chained(graph: QueryGraph, tree: logical.Expand, length: int) -> QueryGraph:
    """The graph with a chain from start to end, in the clause whose relationships it avoids."""
    nodes = list(graph.nodes)
    places = {node.name: node.position for node in nodes}
    names = [anonymous_node_name(_FIRST_NUMBER + number) for number in range(length - 1)]
    for name in (*names, tree.end):
        if name not in places:
            places[name] = len(nodes)
            nodes.append(QueryNode(len(nodes), name))
    walked = [places[name] for name in (tree.start, *names, tree.end)]
    own = 1 + max((each.clause for each in graph.relationships), default=0)
    clause = tree.clause if tree.apart else own
    relationships = list(graph.relationships)
    for number, (one, other) in enumerate(pairwise(walked)):
        incoming = tree.direction is Direction.INCOMING
        relationships.append(
            QueryRelationship(
                position=len(relationships),
                name=anonymous_relationship_name(_FIRST_NUMBER + number),
                source=other if incoming else one,
                target=one if incoming else other,
                directed=tree.direction is not Direction.BOTH,
                types=tree.types,
                clause=clause,
            )
        )
    return replace(graph, nodes=tuple(nodes), relationships=tuple(relationships))
