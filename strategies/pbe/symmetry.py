"""Automorphisms of a pattern, and which relationships they map to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.deadline import check_time

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["Automorphism", "Symmetry"]

_MAX_TRIES = 20_000
"""Assignments tried in the search for one automorphism; beyond that, nothing is shared."""
_MAX_ALL_TRIES = 40_000
"""Assignments tried for all pairs of relationships of a pattern."""


@dataclass(frozen=True, slots=True)
class Automorphism:
    """The images of query nodes and relationships, by position."""

    nodes: tuple[int, ...]
    relationships: tuple[int, ...]


class Symmetry:
    """Automorphisms that keep labels, predicates, types, directions, clauses and tests.

    Args:
        bound: The query.
        masks: The nodes and relationships that pass the predicates; masks must be equal.
        part: Positions of query nodes that may be moved.
    """

    def __init__(self, bound: BoundQuery, masks: Masks, part: frozenset[int]) -> None:
        self._bound = bound
        self._part = part
        node_masks = _classes(masks.nodes)
        self._relationship_masks = _classes(masks.relationships)
        self._kinds: list[Hashable] = [
            (each.labels, node_masks.get(each.position)) for each in bound.nodes
        ]
        self._between = self._by_ends()
        self._tests = {_test(on, a, b, equal) for on, a, b, equal in bound.tests}
        self._tries = 0
        self._left = _MAX_ALL_TRIES

    def find(self, one: BoundRelationship, other: BoundRelationship) -> Automorphism | None:
        """An automorphism that maps one query relationship to another; None if none is found."""
        self._tries = min(_MAX_TRIES, self._left)
        self._left -= self._tries
        try:
            return self._found(one, other)
        finally:
            self._left += max(0, self._tries)

    def _found(self, one: BoundRelationship, other: BoundRelationship) -> Automorphism | None:
        for start, end in ((other.source, other.target), (other.target, other.source)):
            for nodes in self._extended({}, [(one.source, start), (one.target, end)]):
                found = self._with_relationships(nodes, one, other)
                if found is not None and self._keeps_tests(found):
                    return found
        return None

    # ------------------------------------------------------------------ nodes
    def _extended(
        self, nodes: dict[int, int], wanted: Sequence[tuple[int, int]]
    ) -> Iterator[dict[int, int]]:
        for node, image in wanted:
            if nodes.get(node, image) != image or not self._may_map(nodes, node, image):
                return
            nodes = nodes | {node: image}
        left = [node for node in self._part if node not in nodes]
        if not left:
            yield nodes
            return
        node = min(left, key=lambda each: (not self._is_linked(each, nodes), each))
        for image in sorted(self._part - set(nodes.values())):
            self._tries -= 1
            if self._tries < 0:
                return
            check_time()
            yield from self._extended(nodes, [(node, image)])

    def _is_linked(self, node: int, nodes: Mapping[int, int]) -> bool:
        return any((node, other) in self._between for other in nodes)

    def _may_map(self, nodes: Mapping[int, int], node: int, image: int) -> bool:
        if node in nodes:
            return True
        if image in nodes.values() or image not in self._part:
            return False
        if self._kinds[node] != self._kinds[image]:
            return False
        pairs = [*nodes.items(), (node, image)]
        return all(
            self._kinds_between(node, other) == self._kinds_between(image, at)
            for other, at in pairs
        )

    # ------------------------------------------------------------------ relationships
    def _by_ends(self) -> dict[tuple[int, int], dict[Hashable, list[int]]]:
        """For each ordered pair of nodes, the relationships by their kind in that direction."""
        found: dict[tuple[int, int], dict[Hashable, list[int]]] = {}
        for each in self._bound.relationships:
            ends = {(each.source, each.target), (each.target, each.source)}
            for one, other in ends:
                forwards = (one == each.source) if each.directed else None
                mask = self._relationship_masks.get(each.position)
                kind = (each.types, forwards, mask, each.clause)
                found.setdefault((one, other), {}).setdefault(kind, []).append(each.position)
        return found

    def _kinds_between(self, one: int, other: int) -> dict[Hashable, int]:
        kinds = self._between.get((one, other), {})
        return {kind: len(positions) for kind, positions in kinds.items()}

    def _with_relationships(
        self, nodes: Mapping[int, int], one: BoundRelationship, other: BoundRelationship
    ) -> Automorphism | None:
        images = list(range(len(self._bound.relationships)))
        for (first, second), kinds in self._between.items():
            if first > second or first not in nodes:
                continue
            there = self._between[nodes[first], nodes[second]]
            for kind, positions in kinds.items():
                targets = list(there[kind])
                if one.position in positions:
                    if other.position not in targets:
                        return None
                    targets.remove(other.position)
                    targets.insert(positions.index(one.position), other.position)
                for position, target in zip(positions, targets, strict=True):
                    images[position] = target
        moved = [nodes.get(node.position, node.position) for node in self._bound.nodes]
        return Automorphism(tuple(moved), tuple(images))

    def _keeps_tests(self, found: Automorphism) -> bool:
        moved = set()
        for on_nodes, left, right, equal in self._bound.tests:
            images = found.nodes if on_nodes else found.relationships
            moved.add(_test(on_nodes, images[left], images[right], equal))
        return moved == self._tests


def _test(on_nodes: bool, left: int, right: int, equal: bool) -> tuple[bool, int, int, bool]:
    return on_nodes, min(left, right), max(left, right), equal


def _classes(masks: Mapping[int, NDArray[np.uint32]]) -> dict[int, int]:
    """A number per position, equal for equal bitmaps."""
    found: dict[int, int] = {}
    for position, bits in masks.items():
        same = (each for each in found if np.array_equal(masks[each], bits))
        found[position] = found[each] if (each := next(same, None)) is not None else position
    return found
