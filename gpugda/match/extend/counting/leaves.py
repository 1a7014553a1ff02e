"""Which leaves of a query graph are multiplied where only numbers of rows are asked for.

A leaf is a query node with one relationship. Given a row of all other nodes, the core, its number
of ways is the number of data relationships that fit at its anchor. Ways of leaves multiply, but
relationships of a clause differ: what the core has taken of them is subtracted; ``k`` like leaves
of one anchor have the falling factorial of ``k`` factors; two groups of leaves that can take the
same relationships are counted by how many of those the first group takes. A leaf for which none of
this is exact stays in the core.

Query nodes of the core that are independent of each other may be weighed on top (see
`extend_weighed`): rows of the core then hold how many ways such a node has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING

from gpugda.match.extend.counting.weighed import find_weighable, without_tests
from gpugda.match.row_tests import Meetings, type_ids
from gpugda.match.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.counting.weighed import WeighedNodes
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["Branch", "LeafFactor", "LeafGroup", "LeafProduct", "find_product", "keeps_apart"]

_FEWEST = 2
"""Where all rows are counted. One leaf, or weighed node, is what the last step counts anyway."""
_MOST_LIKE = 16


@dataclass(frozen=True, slots=True)
class LeafGroup:
    """Like leaves of one anchor.

    Args:
        leaves: Query nodes.
        relationships: Theirs, in the same order.
        anchor: Query node of the core.
        outgoing: May their relationships start at the anchor?
        incoming: May they end there?
        taken: Query relationships of the core that could be one of theirs.
    """

    leaves: tuple[int, ...]
    relationships: tuple[int, ...]
    anchor: int
    outgoing: bool
    incoming: bool
    taken: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LeafFactor:
    """One group, or two that can take the same relationships.

    Of two, every type of the first one's relationships is a type of the second one's. ``taken``:
    relationships of the core that could be one of both.
    """

    groups: tuple[LeafGroup, ...]
    taken: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Branch:
    """A part that is counted per data node of its root, or per pair of them.

    Args:
        roots: Query nodes of the rest, one or two.
        product: What is joined and what is multiplied; rows hold the roots, too.
    """

    roots: tuple[int, ...]
    product: LeafProduct


@dataclass(frozen=True, slots=True)
class LeafProduct:
    """What is multiplied, and the rest of the query.

    Args:
        core: The query without the tests that the factors make up for.
        factors: What a row of the core is multiplied with.
        leaves: Query nodes that are not in the core.
        read: Query nodes of the core whose data nodes the factors depend on.
        has_cycle: Has the core a cycle?
        weighable: Query nodes that could be weighed.
        clash: Could two query relationships be the same data relationship, and must not?
        weighed: Those that are.
        branches: Parts of the query that are counted by themselves.
        outside: Query nodes of these, and where this is the product of one, of all others.
    """

    core: BoundQuery
    factors: tuple[LeafFactor, ...]
    leaves: frozenset[int]
    read: frozenset[int]
    has_cycle: bool
    weighable: tuple[WeighedNodes, ...]
    clash: Callable[[int, int], bool]
    weighed: tuple[WeighedNodes, ...] = ()
    branches: tuple[Branch, ...] = ()
    outside: frozenset[int] = frozenset()

    @property
    def left_out(self) -> frozenset[int]:
        """Query nodes that no step adds: leaves, of branches, and all like a weighed one but it."""
        return self.leaves.union(self.outside, *(each[1:] for each in self.weighed))

    @property
    def columns(self) -> frozenset[int]:
        """Query nodes of which the core's rows hold the data node, or the number of ways."""
        roots = (each.roots for each in self.branches)
        return self.read.union(*roots, (each[0] for each in self.weighed))

    def is_worth_it(self, *, grouped: bool) -> bool:
        """Is there more than the last step would count anyway? It counts no groups."""
        fewest = 1 if grouped or self.branches else _FEWEST
        nodes = len(self.leaves) + sum(map(len, self.weighed)) + len(self.branches)
        return nodes >= fewest

    def keeping(self, nodes: Collection[int]) -> LeafProduct:
        """The same where these nodes cannot be weighed."""
        weighable = tuple(each for each in self.weighable if not set(nodes) & set(each))
        return replace(self, weighable=weighable)

    def weighing(self, chosen: Sequence[WeighedNodes]) -> LeafProduct:
        """The same with these nodes weighed."""
        core = replace(self.core, tests=without_tests(self.core.tests, chosen, self.core))
        return replace(self, core=core, weighed=tuple(chosen))

    def masks(self, masks: Masks) -> Masks:
        """What is left of them where only the core is joined."""
        if not self.outside or not masks.comparisons:
            return masks
        kept = tuple(
            each
            for each in masks.comparisons
            if all(self.outside.isdisjoint(self._ends(variable)) for variable in each.variables())
        )
        return replace(masks, comparisons=kept)

    def _ends(self, variable: Variable) -> tuple[int, ...]:
        if variable.is_node:
            return (variable.position,)
        each = self.core.relationships[variable.position]
        return each.source, each.target

    def groups(self) -> list[LeafGroup]:
        """Of all factors."""
        return [group for factor in self.factors for group in factor.groups]


def find_product(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    grouped: Collection[int] = (),
    *,
    weighing: bool = False,
) -> LeafProduct | None:
    """What can be multiplied; None where there is too little.

    Args:
        bound: The query.
        graph: What it is asked of.
        masks: What predicates leave.
        grouped: Query nodes that stay in the core, for rows are counted by them.
        weighing: Find out, too, which query nodes could be weighed; none is yet.
    """
    leaves = _all_leaves(bound, masks, grouped)
    if len(leaves) < (1 if grouped else _FEWEST) and not weighing:
        return None
    found = _Leaves(bound, graph, masks)
    while isinstance(made := found.factors(leaves), int):
        del leaves[made]  # no formula is exact: it is joined, and may now be in others' way
    product = found.result(leaves, made, weighing=weighing).keeping(grouped)
    return product if weighing or product.is_worth_it(grouped=bool(grouped)) else None


def _all_leaves(bound: BoundQuery, masks: Masks, grouped: Collection[int]) -> dict[int, int]:
    """The anchor of each leaf by its relationship, what is tested in another way left out."""
    degrees = [0] * len(bound.nodes)
    for each in bound.relationships:
        degrees[each.source] += 1
        degrees[each.target] += 1
    if 1 not in degrees:
        return {}
    tested = {
        Variable(test.on_nodes, each)
        for test in bound.tests
        if not keeps_apart(test)
        for each in (test.left, test.right)
    }
    tested |= {each for test in masks.comparisons for each in test.variables()}
    leaves: dict[int, int] = {}
    for each in bound.relationships:
        # Of two nodes that have only each other, one is the anchor.
        for leaf, anchor in ((each.target, each.source), (each.source, each.target)):
            fits = leaf != anchor and degrees[leaf] == 1 and leaf not in grouped
            fits = fits and each.position not in leaves
            if fits and not tested & {Variable(True, leaf), Variable(False, each.position)}:
                leaves[each.position] = anchor
    return leaves


class _Leaves:
    def __init__(self, bound: BoundQuery, graph: DataGraph, masks: Masks) -> None:
        self._bound = bound
        self._graph = graph
        self._masks = masks
        # Of each query relationship, a bit for each that it must differ from.
        self._apart = [0] * len(bound.relationships)
        for test in bound.tests:
            if keeps_apart(test):
                self._apart[test.left] |= 1 << test.right
                self._apart[test.right] |= 1 << test.left
        self._meetings = Meetings(bound, graph, masks.comparisons)
        self._clashes: dict[int, int] = {}

    def factors(self, leaves: dict[int, int]) -> tuple[LeafFactor, ...] | int:
        """The factors, or a leaf's relationship that must be joined."""
        groups: list[LeafGroup] = []
        for alike in self._alike(leaves):
            taken = self._taken(alike[0], leaves)
            for each in alike:
                if self._taken(each, leaves) != taken or not self._can_subtract(each, taken):
                    return each
            for pair in combinations(alike, 2):
                if not self._are_apart(*pair):
                    return pair[1]
            groups.append(self._group(alike, leaves[alike[0]], taken))
        factors: list[LeafFactor] = []
        left = list(groups)
        while left:
            group = left.pop(0)
            others = [each for each in left if self._any_clash(group, each)]
            if not others:
                factors.append(LeafFactor((group,)))
                continue
            other = others[0]
            left.remove(other)
            made = self._both(group, other)
            third = [each for each in left if self._any_clash(other, each)]
            if made is None or len(others) > 1 or third:
                return other.relationships[-1]
            factors.append(made)
        return tuple(factors)

    def result(
        self, leaves: dict[int, int], factors: tuple[LeafFactor, ...], *, weighing: bool
    ) -> LeafProduct:
        """The product, and what is left of the query."""
        tests = tuple(
            test
            for test in self._bound.tests
            if test.on_nodes or (test.left not in leaves and test.right not in leaves)
        )
        groups = [group for factor in factors for group in factor.groups]
        taken = {each for group in groups for each in group.taken}
        ends = (self._bound.relationships[each] for each in taken)
        read = {group.anchor for group in groups}
        read |= {node for each in ends for node in (each.source, each.target)}
        weighable: list[WeighedNodes] = []
        if weighing:
            weighable = find_weighable(
                self._bound, self._graph, self._masks, self._clash, leaves, taken
            )
        return LeafProduct(
            replace(self._bound, tests=tests),
            factors,
            frozenset(leaf for group in groups for leaf in group.leaves),
            frozenset(read),
            self._has_cycle(),
            tuple(weighable),
            self._clash,
        )

    def _has_cycle(self) -> bool:
        """Leaves are in none: it is the core's."""
        joined = list(range(len(self._bound.nodes)))
        for each in self._bound.relationships:
            old, new = joined[each.source], joined[each.target]
            if old == new:
                return True
            joined = [new if group == old else group for group in joined]
        return False

    # ------------------------------------------------------------------ groups
    def _alike(self, leaves: dict[int, int]) -> list[list[int]]:
        alike: dict[object, list[int]] = {}
        for position, anchor in leaves.items():
            each = self._bound.relationships[position]
            leaf = self._bound.nodes[each.other_end(anchor)]
            mask = self._masks.nodes.get(leaf.position)
            key = (
                anchor,
                each.types,
                each.directed,
                each.directed and each.source == anchor,
                each.clause,
                leaf.labels,
                None if mask is None else mask.tobytes(),
                position if position in self._masks.relationships else None,
            )
            alike.setdefault(key, []).append(position)
        return [
            each[first : first + _MOST_LIKE]
            for each in alike.values()
            for first in range(0, len(each), _MOST_LIKE)
        ]

    def _group(self, alike: Sequence[int], anchor: int, taken: frozenset[int]) -> LeafGroup:
        first = self._bound.relationships[alike[0]]
        return LeafGroup(
            tuple(self._bound.relationships[each].other_end(anchor) for each in alike),
            tuple(alike),
            anchor,
            not first.directed or first.source == anchor,
            not first.directed or first.target == anchor,
            tuple(sorted(taken)),
        )

    # ------------------------------------------------------------------ clashes
    def _clash(self, a: int, b: int) -> bool:
        """Must they differ, and would they not do so anyway?"""
        if a not in self._clashes:
            found, first = 0, self._bound.relationships[a]
            near = self._apart[a] & self._meetings.near[a]
            for each in self._bound.relationships if near else ():
                if near >> each.position & 1 and self._meetings.can_meet(first, each):
                    found |= 1 << each.position
            self._clashes[a] = found
        return bool(self._clashes[a] >> b & 1)

    def _are_apart(self, a: int, b: int) -> bool:
        """Must they differ?"""
        return bool(self._apart[a] >> b & 1)

    def _any_clash(self, one: LeafGroup, other: LeafGroup) -> bool:
        return any(self._clash(*pair) for pair in product(one.relationships, other.relationships))

    def _taken(self, position: int, leaves: Iterable[int]) -> frozenset[int]:
        return frozenset(
            each.position
            for each in self._bound.relationships
            if each.position not in leaves and self._clash(position, each.position)
        )

    def _can_subtract(self, position: int, taken: frozenset[int]) -> bool:
        """Do the nodes of a row tell how many relationships the core has taken?"""
        leaf = self._bound.relationships[position]
        if taken and position in self._masks.relationships:
            return False
        relationships = [self._bound.relationships[each] for each in taken]
        return all(
            self._types(each) <= self._types(leaf) and (each.directed or not leaf.directed)
            for each in relationships
        ) and all(
            self._are_apart(a.position, b.position) or self._types(a).isdisjoint(self._types(b))
            for a, b in combinations(relationships, 2)
        )

    def _both(self, one: LeafGroup, other: LeafGroup) -> LeafFactor | None:
        """Two groups as one factor, where what they have in common can be counted."""
        all_apart = all(
            self._are_apart(*pair) for pair in product(one.relationships, other.relationships)
        )
        masked = {*one.relationships, *other.relationships} & self._masks.relationships.keys()
        if not all_apart or masked:
            return None
        first = self._bound.relationships[one.relationships[0]]
        second = self._bound.relationships[other.relationships[0]]
        if not self._types(first) <= self._types(second):
            one, other, first, second = other, one, second, first
        if not self._types(first) <= self._types(second) or first.clause != second.clause:
            return None
        # What is taken from one only, for the other one is in another clause, would be in common.
        for each in {*one.taken} ^ {*other.taken}:
            overlaps = not self._types(self._bound.relationships[each]).isdisjoint(
                self._types(first)
            )
            if overlaps and not all(
                self._are_apart(each, leaf.position) for leaf in (first, second)
            ):
                return None
        return LeafFactor((one, other), tuple(sorted({*one.taken} & {*other.taken})))

    def _types(self, each: BoundRelationship) -> frozenset[int]:
        return type_ids(each, self._graph)


def keeps_apart(test: RowTest) -> bool:
    """Does it say that two relationships differ?"""
    return not test.on_nodes and not test.equal and test.left != test.right
