"""Which parts of a query graph are counted once per node, or pair, they hang at, not once per row.

Where all paths from some query nodes, a branch, to the others lead through one or two, its roots,
and no relationship of the branch could be one of the others', the branch depends on the roots' data
nodes alone: its ways are counted by them, and rows of the rest are multiplied with them. This is
the sum over a tree of parts that the join of trees makes linear (M. Yannakakis, Algorithms for
acyclic database schemes, 1981), where parts may have cycles; with two roots parts are those of a
decomposition at pairs of nodes (J. Hopcroft, R. Tarjan, Dividing a graph into triconnected
components, 1973).

Relationships between two roots are joined in the branch and in the rest: at most one may fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.match.extend.counting.leaves import Branch, keeps_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Set

    from gpugda.match.comparisons import Comparison
    from gpugda.match.extend.counting.leaves import LeafFactor, LeafProduct
    from gpugda.plan.plan import BoundRelationship

    Nodes = int
    """A bit per query node."""

__all__ = ["WORTH_PAIRING", "branch_cost", "split_off"]

_WORTH_SPLITTING = 1 << 22
"""Joins of fewer pairs are done before parts of them are."""
WORTH_PAIRING = 1 << 26
"""And these before two roots are found and a table is made for them."""
_COST_OF_BRANCH = 1 << 18
"""In pairs: launches of steps of its own."""
_PAIRS_PER_CELL = 1.0
"""Of a table, which is zeroed and read once: about four on two cores, less on a GPU."""
_MOST_CELLS = 1 << 26
"""Of 12 bytes."""
_MOST_PAIRED = 64
"""Nodes of a part: each two of them are tried as roots, and what is beyond them looked for."""
_LEAST_GAIN = 0.5
"""Of the cost that is left: estimates are not exact."""


def split_off(
    product: LeafProduct,
    comparisons: Iterable[Comparison],
    grouped: Iterable[int],
    cost: Callable[[Set[int]], float],
    count: Callable[[int], int],
    is_single: Callable[[BoundRelationship], bool] | None = None,
) -> LeafProduct:
    """The same with the branches that make it cheapest.

    Args:
        product: Of the whole query, with nothing weighed yet.
        comparisons: Of the query.
        grouped: Query nodes that must be in the rest.
        cost: Pairs and rows of joining some nodes of the core, which are connected.
        count: Candidates of a query node.
        is_single: Does at most one data relationship fit between two given nodes? None where no
            branch may have two roots.
    """
    whole = (1 << len(product.core.nodes)) - 1 & ~_nodes(product.leaves)
    known = cache(lambda nodes: cost(frozenset(_each(nodes))))
    splits = _Splits(_Parts(product, comparisons), known, count, is_single)
    return splits.split(whole, 0, _nodes(grouped))


def branch_cost(roots: Iterable[int], count: Callable[[int], int]) -> float:
    """In pairs, of a branch beside its join. ``count``: candidates of a query node."""
    counts = list(map(count, roots))
    return _COST_OF_BRANCH + (_PAIRS_PER_CELL * math.prod(counts) if len(counts) > 1 else 0)


@dataclass(frozen=True, slots=True)
class _Offer:
    """What could be a branch: its roots, and the nodes beyond them."""

    roots: Nodes
    beyond: Nodes


class _Splits:
    def __init__(
        self,
        parts: _Parts,
        cost: Callable[[Nodes], float],
        count: Callable[[int], int],
        is_single: Callable[[BoundRelationship], bool] | None,
    ) -> None:
        self._parts = parts
        self._cost = cost
        self._count = count
        self._is_single = is_single

    def split(self, nodes: Nodes, roots: Nodes, kept: Nodes) -> LeafProduct:
        """A part of the query, the roots of a branch among its nodes, as a product."""
        branches: list[Branch] = []
        lowest = self._cost(nodes)
        while lowest >= _WORTH_SPLITTING:
            best = self._best(nodes, kept, _LEAST_GAIN * lowest)
            if best is None:
                break
            inner = self.split(best.beyond | best.roots, best.roots, best.roots)
            branches.append(Branch(tuple(_each(best.roots)), inner))
            nodes &= ~best.beyond
            kept |= best.roots
            lowest = self._cost(nodes)
        return self._parts.product(nodes, roots, branches)

    def _best(self, nodes: Nodes, kept: Nodes, most: float) -> _Offer | None:
        """What leaves the least cost, if this is not above ``most``."""
        best = None
        for each in self._offers(nodes, kept):
            cost = branch_cost(_each(each.roots), self._count)
            for part in (nodes & ~each.beyond, each.beyond | each.roots):
                if cost > most:
                    break
                cost += self._cost(part)
            if cost < most or (cost == most and best is None):
                most, best = cost, each
        return best

    def _offers(self, nodes: Nodes, kept: Nodes) -> Iterator[_Offer]:
        yield from self._parts.hanging(nodes, kept)
        if self._is_single is None or self._cost(nodes) < WORTH_PAIRING:
            return
        if nodes.bit_count() > _MOST_PAIRED:
            return
        for a, b in combinations(_each(nodes), 2):
            if self._count(a) * self._count(b) <= _MOST_CELLS:
                yield from self._parts.between(a, b, nodes, kept, self._is_single)


class _Parts:
    def __init__(self, product: LeafProduct, comparisons: Iterable[Comparison]) -> None:
        self._product = product
        core = product.core
        ends = [1 << each.source | 1 << each.target for each in core.relationships]
        self._ends = ends
        # Of each query relationship, the nodes of the core that its number depends on.
        self._reads = list(ends)
        self._factors = [(each, _nodes(_read(product, each))) for each in product.factors]
        for factor, nodes in self._factors:
            for group in factor.groups:
                for position in group.relationships:
                    self._reads[position] = nodes
        # Of each node those that it has a relationship to; that it is read with; by which ones.
        self._linked = [0] * len(core.nodes)
        self._near = [0] * len(core.nodes)
        self._at = [0] * len(core.nodes)
        for position, read in enumerate(self._reads):
            for node in _each(ends[position]):
                self._linked[node] |= ends[position]
            for node in _each(read):
                self._near[node] |= read
                self._at[node] |= 1 << position
        self._looped = _nodes(
            each.source for each in core.relationships if each.source == each.target
        )
        self._tests = [
            (
                test,
                1 << test.left | 1 << test.right
                if test.on_nodes
                else self._reads[test.left] | self._reads[test.right],
            )
            for test in core.tests
        ]
        self._together = [
            nodes for test, nodes in self._tests if test.on_nodes or not keeps_apart(test)
        ]
        for each in comparisons:
            nodes = 0
            for one in each.variables():
                nodes |= 1 << one.position if one.is_node else self._reads[one.position]
            self._together.append(nodes)
        self._clashes: list[int] | None = None

    def hanging(self, nodes: Nodes, kept: Nodes) -> Iterator[_Offer]:
        """What could be branches of a part, at one root."""
        for root in _each(nodes & ~self._looped):
            beyonds = [
                each for each in self._components(nodes & ~(1 << root)) if each & self._near[root]
            ]
            if len(beyonds) > 1:
                for beyond in beyonds:
                    if not beyond & kept and self._is_apart(1 << root, beyond, 0):
                        yield _Offer(1 << root, beyond)

    def between(
        self,
        a: int,
        b: int,
        nodes: Nodes,
        kept: Nodes,
        is_single: Callable[[BoundRelationship], bool],
    ) -> Iterator[_Offer]:
        """What could be branches of a part, at these two roots."""
        roots = 1 << a | 1 << b
        if roots & self._looped:
            return
        components = self._components(nodes & ~roots)
        if len(components) < 2:
            return
        shared = [
            each for each in self._product.core.relationships if self._ends[each.position] == roots
        ]
        if not all(map(is_single, shared)):
            return
        both = _nodes(each.position for each in shared)
        for beyond in components:
            reaches_both = beyond & self._near[a] and beyond & self._near[b]
            if not reaches_both or beyond & kept or not self._is_apart(roots, beyond, both):
                continue
            # Else a part falls apart, and there is a branch at one of the two.
            if all(self._joins(roots, part) for part in (nodes & ~beyond, beyond | roots)):
                yield _Offer(roots, beyond)

    def product(self, nodes: Nodes, roots: Nodes, branches: list[Branch]) -> LeafProduct:
        """What is joined and multiplied of a part, with branches that hang at it."""
        whole = self._product
        # What depends on the roots alone belongs to the rest.
        factors = [each for each, read in self._factors if not read & ~nodes and read & ~roots]
        groups = [group for factor in factors for group in factor.groups]
        leaves = frozenset(leaf for group in groups for leaf in group.leaves)
        inner = nodes & ~roots
        for branch in branches:
            inner &= ~_nodes(branch.roots)
        tests = tuple(test for test, tested in self._tests if not tested & ~nodes)
        return replace(
            whole,
            core=replace(whole.core, tests=tests),
            factors=tuple(factors),
            leaves=leaves,
            read=frozenset(node for each in factors for node in _read(whole, each)),
            weighable=tuple(each for each in whole.weighable if not _nodes(each) & ~inner),
            outside=frozenset(range(len(whole.core.nodes))).difference(_each(nodes), leaves),
            branches=tuple(branches),
        )

    def _is_apart(self, roots: Nodes, beyond: Nodes, shared: int) -> bool:
        """Does what is beyond some nodes depend on no other one?

        ``shared``: a bit for each query relationship that is joined here and in the rest.
        """
        whole = beyond | roots
        if any(each & beyond and each & ~whole for each in self._together):
            return False
        inside = 0
        for node in _each(beyond):
            inside |= self._at[node]
            if self._near[node] & ~whole:
                return False
        apart = ~(inside | shared)
        return not any(self._clashing[each] & apart for each in _each(inside))

    @property
    def _clashing(self) -> list[int]:
        """Of each query relationship a bit for each that could be the same data relationship."""
        if self._clashes is None:
            every = range(len(self._reads))
            self._clashes = [
                _nodes(b for b in every if b != a and self._product.clash(a, b)) for a in every
            ]
        return self._clashes

    def _components(self, nodes: Nodes) -> list[Nodes]:
        found = []
        check_time()
        while nodes:
            component = _reached(nodes & -nodes, nodes, self._near)
            nodes &= ~component
            found.append(component)
        return found

    def _joins(self, roots: Nodes, nodes: Nodes) -> bool:
        """Are two roots connected by relationships among these nodes?"""
        return not roots & ~_reached(roots & -roots, nodes, self._linked)


def _reached(start: Nodes, nodes: Nodes, near: Sequence[Nodes]) -> Nodes:
    """Those of the nodes that are connected with one of them."""
    reached = waiting = start
    while waiting:
        node = waiting & -waiting
        new = near[node.bit_length() - 1] & nodes & ~reached
        reached |= new
        waiting = waiting & ~node | new
    return reached


def _read(product: LeafProduct, factor: LeafFactor) -> frozenset[int]:
    """Query nodes of the core whose data nodes a factor depends on."""
    taken = [*factor.taken, *(each for group in factor.groups for each in group.taken)]
    ends = (product.core.relationships[each] for each in taken)
    anchors = {group.anchor for group in factor.groups}
    return frozenset(anchors.union(*((each.source, each.target) for each in ends)))


def _nodes(numbers: Iterable[int]) -> int:
    """A bit for each."""
    found = 0
    for each in numbers:
        found |= 1 << each
    return found


def _each(bits: int) -> Iterator[int]:
    """The numbers whose bits are set, rising."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest
