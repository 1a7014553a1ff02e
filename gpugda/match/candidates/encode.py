"""Encodes a bound query as the words and masks that the device reads."""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.query_words import Adjacency, Degree, QueryRow, write_query
from gpugda.match.candidates.label_words import (
    all_node_masks,
    label_words,
    labels_read,
)
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.query_words import QueryWords
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship

__all__ = [
    "Encoding",
    "Exploration",
    "degree_looks",
    "encode_query",
    "label_ids",
    "levels_of",
    "needed_degrees",
]

_LOOKS_PER_ENTRY = 3
"""An entry is marked once, and looked up from both ends."""


@value(frozen=True, slots=True, eq=False)
class Encoding:
    """A query as arrays.

    Args:
        rows: Row of the candidate matrix per position of a query node.
        levels: First row of each level; the number of rows comes last.
        query: The query's words.
        node_masks: Bitmaps of the nodes, one after the other, or None.
        relationship_masks: Bitmaps of the relationships, one after the other, or None.
        looks: Estimated number of nodes visited for degrees, and of nodes and entries visited by
            exploration if that is done.
    """

    rows: Mapping[int, int]
    levels: tuple[int, ...]
    query: QueryWords
    node_masks: NDArray[np.uint32] | None
    relationship_masks: NDArray[np.uint32] | None
    looks: float


def levels_of(bound: BoundQuery) -> list[list[int]]:
    """Query nodes by distance from the most selective node of their component."""
    around: list[set[int]] = [set() for _ in bound.nodes]
    for each in bound.relationships:
        around[each.source].add(each.target)
        around[each.target].add(each.source)
    levels: list[list[int]] = [[]]
    seen: set[int] = set()
    for start in sorted(bound.nodes, key=attrgetter("cardinality")):
        if start.position in seen:
            continue
        level = 0
        reached = [start.position]
        while reached:
            if level == len(levels):
                levels.append([])
            levels[level].extend(reached)
            seen.update(reached)
            neighbours: set[int] = set().union(*[around[each] for each in reached])
            reached = sorted(neighbours - seen)
            level += 1
    return levels


def _relationships_at(bound: BoundQuery) -> list[list[BoundRelationship]]:
    """The relationships of each query node; a self-loop occurs once."""
    found: list[list[BoundRelationship]] = [[] for _ in bound.nodes]
    for each in bound.relationships:
        found[each.source].append(each)
        if each.target != each.source:
            found[each.target].append(each)
    return found


def label_ids(bound: BoundQuery) -> set[int]:
    """The labels whose bitmaps the device needs."""
    ids: set[int] = set()
    for node in bound.nodes:
        ids.update(labels_read(node.labels))
    return ids


def degree_looks(
    degrees: Sequence[Sequence[Degree]], reached: Sequence[float]
) -> dict[Degree, float]:
    """The estimated number of nodes to visit for each degree that is needed.

    Args:
        degrees: Degrees needed per query node.
        reached: Number of nodes to test per query node.
    """
    looks: dict[Degree, float] = {}
    for needed, count in zip(degrees, reached, strict=True):
        for need in needed:
            looks[need] = looks.get(need, 0.0) + count
    return looks


class Exploration:
    """Estimates for the exploration of a query's candidates, each computed on first use.

    Args:
        bound: The query.
    """

    def __init__(self, bound: BoundQuery) -> None:
        self.bound = bound

    @cached_property
    def levels(self) -> list[list[int]]:
        """See `levels_of`."""
        return levels_of(self.bound)

    @cached_property
    def degrees(self) -> list[tuple[Degree, ...]]:
        """The degrees that each query node requires."""
        return list(map(needed_degrees, self.bound.nodes))

    @cached_property
    def reached(self) -> list[float]:
        """Estimated number of nodes, per query node, that are marked from the previous level."""
        return _reached_nodes(self.bound, self.levels)

    @cached_property
    def looks(self) -> float:
        """Estimated number of nodes and entries that exploration and refinement visit."""
        counted = zip(self.reached, self.bound.nodes, strict=True)
        shares = [count / max(node.cardinality, 1.0) for count, node in counted]
        entries = [
            each.cardinality * min(shares[each.source], shares[each.target], 1.0)
            for each in self.bound.relationships
        ]
        return sum(self.reached) + _LOOKS_PER_ENTRY * sum(entries)


def _reached_nodes(bound: BoundQuery, levels: Sequence[Sequence[int]]) -> list[float]:
    reached: dict[int, float] = {}
    nodes, at = bound.nodes, _relationships_at(bound)
    before = [max(node.cardinality, 1.0) for node in nodes]
    for position in [position for level in levels for position in level]:
        least = nodes[position].cardinality
        for each in at[position]:
            other = each.target if each.source == position else each.source
            if other in reached:
                least = min(least, reached[other] * each.cardinality / before[other])
        reached[position] = least
    return [reached[each.position] for each in nodes]


def encode_query(
    exploration: Exploration,
    masks: Masks,
    graph: DeviceGraph,
    slots: Mapping[int | Degree, int],
    looks: float,
    *,
    counts_degrees: bool = True,
) -> Encoding:
    """The arrays of a query.

    Args:
        exploration: The query's exploration.
        masks: The nodes and relationships that pass the predicates.
        graph: The graph in which deep label programs are evaluated.
        slots: Row of each label's bitmap, and of the bitmaps of some degrees.
        looks: See `Encoding`.
        counts_degrees: True if degrees without a slot can be counted; otherwise they are not
            tested.
    """
    bound, levels = exploration.bound, exploration.levels
    order = [position for level in levels for position in level]
    rows = {position: row for row, position in enumerate(order)}
    node_masks = all_node_masks(bound, masks, graph)
    node_slots = {position: slot for slot, position in enumerate(node_masks)}
    relationship_slots = {position: slot for slot, position in enumerate(masks.relationships)}
    adjacencies = _adjacencies(bound, rows, relationship_slots)
    degrees = [
        [each for each in needed if counts_degrees or each in slots]
        for needed in exploration.degrees
    ]
    query_rows = [
        QueryRow(
            level=number,
            labels=label_words(bound.nodes[position], degrees[position], slots),
            mask_slot=node_slots.get(position),
            degrees=tuple([each for each in degrees[position] if each not in slots]),
            adjacencies=tuple(adjacencies[position]),
        )
        for number, level in enumerate(levels)
        for position in level
    ]
    return Encoding(
        rows,
        tuple(accumulate(map(len, levels), initial=0)),
        write_query(query_rows),
        _joined(list(node_masks.values())),
        _joined(list(masks.relationships.values())),
        looks,
    )


def _joined(bitmaps: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32] | None:
    return np.concatenate(bitmaps) if bitmaps else None


def needed_degrees(node: BoundNode) -> tuple[Degree, ...]:
    """The degrees that a query node requires."""
    return tuple(
        [
            Degree(need.outgoing, need.incoming, need.types, need.at_least)
            for need in node.degree_needs
            if need.at_least > 0
        ]
    )


def _adjacencies(
    bound: BoundQuery, rows: Mapping[int, int], slots: Mapping[int, int]
) -> list[list[Adjacency]]:
    """The relationships of each query node as seen from it; a self-loop occurs once."""
    found: list[list[Adjacency]] = [[] for _ in bound.nodes]
    for each in bound.relationships:
        position, types, slot = each.position, each.types, slots.get(each.position)
        source, target, undirected = each.source, each.target, not each.directed
        is_loop = source == target
        # A self-loop is in both rows of its node: the outgoing row is enough.
        incoming = undirected and not is_loop
        found[source].append(
            Adjacency(position, rows[target], True, incoming, is_loop, slot, types)
        )
        if not is_loop:
            found[target].append(
                Adjacency(position, rows[source], undirected, True, False, slot, types)
            )
    return found
