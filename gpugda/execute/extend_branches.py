"""Which parts of a query graph are counted once per node that they hang at, not once per row.

Where all paths from some query nodes, a branch, to the others lead through one, its root, and no
relationship of the branch could be one of the others', the branch depends on the root's data node
alone: its ways are counted per candidate of the root, and rows of the rest are multiplied with
them. This is the sum over a tree of parts that the join of trees makes linear (M. Yannakakis,
Algorithms for acyclic database schemes, 1981), where parts may have cycles.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpugda.execute.extend_products import Branch, keeps_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set

    from gpugda.execute.comparisons import Comparison
    from gpugda.execute.extend_products import LeafFactor, LeafProduct

__all__ = ["split_off"]

_WORTH_SPLITTING = 1 << 22
"""Joins of fewer pairs are done before parts of them are."""
_COST_OF_BRANCH = 1 << 20
"""In pairs: launches of steps of its own."""
_LEAST_GAIN = 0.5
"""Of the cost that is left: estimates are not exact."""


def split_off(
    product: LeafProduct,
    comparisons: Iterable[Comparison],
    grouped: Iterable[int],
    cost: Callable[[Set[int]], float],
) -> LeafProduct:
    """The same with the branches that make it cheapest.

    Args:
        product: Of the whole query, with nothing weighed yet.
        comparisons: Of the query.
        grouped: Query nodes that must be in the rest.
        cost: Pairs and rows of joining some nodes of the core, which are connected.
    """
    parts = _Parts(product, comparisons)
    whole = frozenset(range(len(product.core.nodes))) - product.leaves
    return _split(parts, _Part(whole, None), frozenset(grouped), cost)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some nodes of the core, the root of a branch among them."""

    nodes: frozenset[int]
    root: int | None


def _split(
    parts: _Parts, part: _Part, kept: frozenset[int], cost: Callable[[Set[int]], float]
) -> LeafProduct:
    branches: list[Branch] = []
    nodes = part.nodes
    lowest = cost(nodes)
    while lowest >= _WORTH_SPLITTING:
        offers = [
            (cost(nodes - beyond) + cost(beyond | {root}) + _COST_OF_BRANCH, root, beyond)
            for root, beyond in parts.hanging(nodes, kept)
        ]
        if not offers:
            break
        best, root, beyond = min(offers, key=lambda each: (each[0], each[1], min(each[2])))
        if best > _LEAST_GAIN * lowest:
            break
        inner = _Part(beyond | {root}, root)
        branches.append(Branch(root, _split(parts, inner, frozenset((root,)), cost)))
        nodes -= beyond
        kept |= {root}
        lowest = cost(nodes)
    return parts.product(_Part(nodes, part.root), branches)


class _Parts:
    def __init__(self, product: LeafProduct, comparisons: Iterable[Comparison]) -> None:
        self._product = product
        core = product.core
        # Of each query relationship, the nodes of the core that its number depends on.
        self._reads = [frozenset((each.source, each.target)) for each in core.relationships]
        for factor in product.factors:
            for group in factor.groups:
                for position in group.relationships:
                    self._reads[position] = _read(product, factor)
        self._looped = {each.source for each in core.relationships if each.source == each.target}
        self._together = [{test.left, test.right} for test in core.tests if test.on_nodes]
        for test in core.tests:
            if not test.on_nodes and not keeps_apart(test):
                self._together.append({*self._reads[test.left], *self._reads[test.right]})
        for each in comparisons:
            ends = [
                {one.position} if one.is_node else self._reads[one.position]
                for one in each.variables()
            ]
            self._together.append({node for nodes in ends for node in nodes})
        self._clashes: list[set[int]] | None = None

    def hanging(
        self, nodes: frozenset[int], kept: frozenset[int]
    ) -> Iterator[tuple[int, frozenset[int]]]:
        """What could be branches of a part: the root, and the nodes beyond it."""
        for root in sorted(nodes - self._looped):
            near = frozenset().union(*(read for read in self._reads if root in read))
            beyonds = [
                each for each in self._components(nodes - {root}) if not near.isdisjoint(each)
            ]
            if len(beyonds) > 1:
                for beyond in beyonds:
                    if beyond.isdisjoint(kept) and self._is_apart(root, beyond):
                        yield root, beyond

    def product(self, part: _Part, branches: list[Branch]) -> LeafProduct:
        """What is joined and multiplied of a part, with branches that hang at it."""
        whole, nodes = self._product, part.nodes
        of_root = frozenset(() if part.root is None else (part.root,))
        factors = [each for each in whole.factors if of_root != _read(whole, each) <= nodes]
        groups = [group for factor in factors for group in factor.groups]
        leaves = frozenset(leaf for group in groups for leaf in group.leaves)
        roots = frozenset(each.root for each in branches)
        inner = nodes - roots - of_root
        tests = tuple(
            test
            for test in whole.core.tests
            if (
                {test.left, test.right}
                if test.on_nodes
                else self._reads[test.left] | self._reads[test.right]
            )
            <= nodes
        )
        return replace(
            whole,
            core=replace(whole.core, tests=tests),
            factors=tuple(factors),
            leaves=leaves,
            read=frozenset(node for each in factors for node in _read(whole, each)),
            weighable=tuple(each for each in whole.weighable if inner.issuperset(each)),
            outside=frozenset(range(len(whole.core.nodes))) - nodes - leaves,
            branches=tuple(branches),
        )

    def _is_apart(self, root: int, beyond: frozenset[int]) -> bool:
        """Does what is beyond a node depend on no other one?"""
        with_root = beyond | {root}
        if any(not beyond.isdisjoint(each) and not each <= with_root for each in self._together):
            return False
        inside = {
            position for position, read in enumerate(self._reads) if not beyond.isdisjoint(read)
        }
        if not all(self._reads[each] <= with_root for each in inside):
            return False
        return all(self._clashing[each] <= inside for each in inside)

    @property
    def _clashing(self) -> list[set[int]]:
        """Of each query relationship those that could be the same data relationship."""
        if self._clashes is None:
            every = range(len(self._reads))
            self._clashes = [
                {b for b in every if b != a and self._product.clash(a, b)} for a in every
            ]
        return self._clashes

    def _components(self, nodes: frozenset[int]) -> list[frozenset[int]]:
        left, found = set(nodes), []
        while left:
            start = left.pop()
            component, waiting = {start}, [start]
            while waiting:
                node = waiting.pop()
                for read in self._reads:
                    if node in read:
                        near = read & left
                        left -= near
                        component |= near
                        waiting.extend(near)
            found.append(frozenset(component))
        return found


def _read(product: LeafProduct, factor: LeafFactor) -> frozenset[int]:
    """Query nodes of the core whose data nodes a factor depends on."""
    taken = [*factor.taken, *(each for group in factor.groups for each in group.taken)]
    ends = (product.core.relationships[each] for each in taken)
    anchors = {group.anchor for group in factor.groups}
    return frozenset(anchors.union(*((each.source, each.target) for each in ends)))
