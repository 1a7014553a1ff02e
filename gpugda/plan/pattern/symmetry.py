"""Interchangeable query nodes: automorphisms of the query graph.

If every permutation of some query nodes belongs to an automorphism of the whole query, each set of
data nodes bound to them is found once per permutation. One order of them is enough for a count.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from gpugda.plan.pattern.merge_nodes import renamed

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from gpugda.plan.plan import BoundQuery

__all__ = [
    "are_pairwise_exchangeable",
    "exchangeable_sets",
    "has_only_known_conditions",
    "interchangeable",
]

_MAX_NODES = 16
_MAX_NODES_OF_SETS = 8
_MAX_TRIES = 2000
"""Single assignments per search; beyond that, a query is treated as if it had no symmetry."""


def interchangeable(bound: BoundQuery, fixed: Container[int] = ()) -> tuple[int, ...]:
    """The largest set of query nodes whose permutations all belong to automorphisms of the query.

    Each two of them are joined by an undirected relationship that lies on a cycle of the query
    (patterns without cycles are counted without finding embeddings). A set of two must be
    exchangeable with all other nodes fixed, which halves the work; turning a square around would
    not. Empty if there is none. ``fixed``: query nodes that every automorphism must fix.
    """
    if len(bound.nodes) > _MAX_NODES:
        return ()
    symmetries = _Symmetries(bound, fixed)  # colours are computed on first use
    pairs = {pair for pair in symmetries.undirected_pairs() if symmetries.swaps(pair)}
    best: tuple[int, ...] = ()
    for pair in sorted(pairs):
        if not best or not set(pair) <= set(best):
            best = max(best, symmetries.extended(pair, pairs), key=len)
    if len(best) == 2 and not symmetries.swaps((best[0], best[1]), tuple(range(len(bound.nodes)))):
        return ()
    return best


def exchangeable_sets(bound: BoundQuery, fixed: Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """Disjoint sets of query nodes; of embeddings that differ in their orders, one is enough.

    For any data nodes at the ``fixed`` query nodes: if the query has an embedding with these, it
    has one whose other data nodes are ascending within each set. All permutations of the first set
    belong to automorphisms that fix these nodes, those of the second set to automorphisms that fix
    the first set as well, and so on.

    Unlike the sets of `interchangeable`, these need no relationship between their nodes, and their
    exchange may move other nodes.
    """
    if len(bound.nodes) > _MAX_NODES_OF_SETS or not has_only_known_conditions(bound):
        return ()
    sets: list[tuple[int, ...]] = []
    kept = frozenset(fixed)
    while True:
        symmetries = _Symmetries(bound, kept)
        free = [node for node in range(len(bound.nodes)) if node not in kept]
        pairs = {pair for pair in combinations(free, 2) if symmetries.swaps(pair)}
        if not pairs:
            return tuple(sets)
        found = (symmetries.extended(pair, pairs) for pair in sorted(pairs))
        sets.append(max(found, key=len))
        kept |= frozenset(sets[-1])


def has_only_known_conditions(bound: BoundQuery) -> bool:
    """True if all conditions are on one node, or follow from relationships of one clause."""
    clauses = [each.clause for each in bound.relationships]
    return (
        bound.no_rows is None
        and not bound.residuals
        and not any(each.predicates for each in bound.relationships)
        and not any(
            test.equal or test.on_nodes or clauses[test.left] != clauses[test.right]
            for test in bound.tests
        )
    )


def are_pairwise_exchangeable(bound: BoundQuery, nodes: tuple[int, ...]) -> bool:
    """True if exchanging any two of these nodes, with all others fixed, is an automorphism."""
    symmetries, everything = _Symmetries(bound, ()), tuple(range(len(bound.nodes)))
    return all(symmetries.swaps(pair, everything) for pair in combinations(nodes, 2))


class _Symmetries:
    """Automorphisms of one query."""

    def __init__(self, bound: BoundQuery, fixed: Container[int]) -> None:
        self._fixed = fixed
        self._count = len(bound.nodes)
        between: dict[tuple[int, int], Counter[object]] = {}
        for each in bound.relationships:
            source, target = each.source, each.target
            kind = (each.types, each.clause, each.directed)
            ends = [(source, target)] if each.directed else [(source, target), (target, source)]
            for end in dict.fromkeys(ends):
                between.setdefault(end, Counter())[kind] += 1
        self._between = {ends: frozenset(kinds.items()) for ends, kinds in between.items()}
        self._undirected = {
            (min(each.source, each.target), max(each.source, each.target))
            for each in bound.relationships
            if not each.directed and each.source != each.target
        }
        self._bound = bound

    @cached_property
    def _colours(self) -> list[object]:
        return [self._colour(self._bound, position) for position in range(self._count)]

    def _colour(self, bound: BoundQuery, position: int) -> object:
        """What an automorphism preserves about a node."""
        node = bound.nodes[position]
        predicates = frozenset(renamed(each, {node.name: ""}) for each in node.predicates)
        around = Counter(kinds for (end, _), kinds in self._between.items() if end == position)
        loops = self._between.get((position, position))
        own = position if position in self._fixed else None
        return own, node.labels, predicates, frozenset(around.items()), loops

    def undirected_pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of nodes that an undirected relationship joins and that lie on a common cycle."""
        for pair in self._undirected:
            if self._lies_on_cycle(*pair):
                yield pair

    def _lies_on_cycle(self, start: int, end: int) -> bool:
        reached, left = {start}, [start]
        while left:
            node = left.pop()
            around = {other for pair in self._between if node in pair for other in pair} - reached
            around -= {end} if node == start else set()
            reached |= around
            left.extend(around)
        return end in reached

    def extended(self, pair: tuple[int, int], pairs: set[tuple[int, int]]) -> tuple[int, ...]:
        """A maximal set that contains the pair, by adding nodes greedily."""
        found: tuple[int, ...] = pair
        for node in range(self._count):
            if node not in found and self._may_join(node, found, pairs):
                found = (*found, node)
        return tuple(sorted(found))

    def _may_join(self, node: int, found: tuple[int, ...], pairs: set[tuple[int, int]]) -> bool:
        if any((min(node, each), max(node, each)) not in pairs for each in found):
            return False
        # Transpositions that fix all other nodes generate every permutation.
        together = (*found, node)
        return all(self.swaps(two, together) for two in combinations(together, 2))

    def swaps(self, pair: tuple[int, int], fixed: tuple[int, ...] = ()) -> bool:
        """True if an automorphism exchanges two nodes and fixes the given others."""
        one, other = pair
        begun = {**{each: each for each in fixed}, one: other, other: one}
        if any(not self._fits(begun, node, image) for node, image in begun.items()):
            return False
        return self._completed(begun, [_MAX_TRIES])

    def _completed(self, images: dict[int, int], tries: list[int]) -> bool:
        if len(images) == self._count:
            return True
        node = self._next(images)
        for image in set(range(self._count)) - set(images.values()):
            tries[0] -= 1
            if tries[0] < 0:
                return False
            if self._fits(images, node, image) and self._completed({**images, node: image}, tries):
                return True
        return False

    def _next(self, images: Mapping[int, int]) -> int:
        """A node adjacent to one that has an image, if there is one."""
        left = [node for node in range(self._count) if node not in images]
        for node in left:
            if any(
                (node, each) in self._between or (each, node) in self._between for each in images
            ):
                return node
        return left[0]

    def _fits(self, images: Mapping[int, int], node: int, image: int) -> bool:
        if self._colours[node] != self._colours[image]:
            return False
        return all(
            self._between.get((node, each)) == self._between.get((image, to))
            and self._between.get((each, node)) == self._between.get((to, image))
            for each, to in images.items()
        )
