"""Degree messages: which leaves of a pattern are eliminated by the degrees of their anchors.

A leaf is a query node with one relationship. For a row of all other nodes, the core, the number of
matches of a leaf is the number of data relationships that fit at its anchor. Counts of several
leaves are multiplied, but relationships of a clause differ. So relationships taken by the core are
subtracted; ``k`` interchangeable leaves of one anchor have the falling factorial with ``k``
factors; and two groups of leaves that can take the same relationships are counted by how many of
those the first group takes. A leaf for which none of these formulas is exact stays in the core.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING

from gpugda.plan.counting.clashes import Clashes, is_distinctness_test
from gpugda.plan.counting.count_plan import DegreeMessage, Eliminate, InterchangeableLeaves
from gpugda.plan.row_tests import type_ids
from gpugda.plan.variables import Variable
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["Eliminable", "find_degree_messages", "min_eliminated"]

_MAX_GROUP = 16


@value(frozen=True, slots=True, eq=False)
class Eliminable:
    """A pattern whose leaves are eliminated, and of which more may be eliminated.

    Args:
        plan: The plan with degree messages.
        clash: Which query relationships must differ and could otherwise be the same.
    """

    plan: Eliminate
    clash: Clashes


def find_degree_messages(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    grouped: Collection[int] = (),
    *,
    searching: bool = False,
) -> Eliminable | None:
    """Eliminates the leaves of a pattern; None if they are too few to pay.

    Args:
        bound: The pattern.
        graph: The data graph.
        masks: The evaluated predicates.
        grouped: Grouping nodes, which stay in the core.
        searching: True if more nodes may be eliminated later; then the leaves are never too few.
    """
    leaves = _all_leaves(bound, masks, grouped)
    if len(leaves) < min_eliminated(grouped) and not searching:
        return None
    found = _Leaves(bound, graph, masks)
    while isinstance(made := found.messages(leaves), int):
        del leaves[made]  # no formula is exact, so it is joined; it may now clash with other leaves
    if len(leaves) < min_eliminated(grouped) and not searching:
        return None
    return found.result(leaves, made)


def min_eliminated(grouped: Collection[int]) -> int:
    """Fewest eliminated nodes that pay: without groups, the last step counts one node anyway."""
    return 1 if grouped else 2


def _all_leaves(bound: BoundQuery, masks: Masks, grouped: Collection[int]) -> dict[int, int]:
    """The anchor of each leaf, by the leaf's relationship; leaves with other tests are left out."""
    degrees = [0] * len(bound.nodes)
    for each in bound.relationships:
        degrees[each.source] += 1
        degrees[each.target] += 1
    if 1 not in degrees:
        return {}
    tested = {
        Variable(test.on_nodes, each)
        for test in bound.tests
        if not is_distinctness_test(test)
        for each in (test.left, test.right)
    }
    tested |= {each for test in masks.comparisons for each in test.variables()}
    leaves: dict[int, int] = {}
    for each in bound.relationships:
        # If two nodes have no other neighbour, one of them is the anchor.
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
        self._clash = Clashes(bound, graph, masks.comparisons)

    def messages(self, leaves: dict[int, int]) -> tuple[DegreeMessage, ...] | int:
        """The messages, or the relationship of a leaf that must be joined instead."""
        groups: list[InterchangeableLeaves] = []
        for alike in self._alike(leaves):
            taken = self._taken_by_core(alike[0], leaves)
            for each in alike:
                if self._taken_by_core(each, leaves) != taken or not self._can_subtract(
                    each, taken
                ):
                    return each
            for pair in combinations(alike, 2):
                if not self._clash.must_differ(*pair):
                    return pair[1]
            groups.append(self._group(alike, leaves[alike[0]], taken))
        return self._single_or_paired(groups)

    def _single_or_paired(
        self, groups: list[InterchangeableLeaves]
    ) -> tuple[DegreeMessage, ...] | int:
        """Like `messages`, from groups; two groups that share relationships make one message."""
        messages: list[DegreeMessage] = []
        left = list(groups)
        while left:
            group = left.pop(0)
            others = [each for each in left if self._any_clash(group, each)]
            if not others:
                messages.append(self._message((group,)))
                continue
            other = others[0]
            left.remove(other)
            made = self._paired(group, other)
            third = [each for each in left if self._any_clash(other, each)]
            if made is None or len(others) > 1 or third:
                return other.relationships[-1]
            messages.append(made)
        return tuple(messages)

    def result(self, leaves: dict[int, int], messages: tuple[DegreeMessage, ...]) -> Eliminable:
        """The plan with the messages and the tests that remain."""
        tests = tuple(
            test
            for test in self._bound.tests
            if test.on_nodes or (test.left not in leaves and test.right not in leaves)
        )
        return Eliminable(Eliminate(replace(self._bound, tests=tests), messages), self._clash)

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
            each[first : first + _MAX_GROUP]
            for each in alike.values()
            for first in range(0, len(each), _MAX_GROUP)
        ]

    def _group(
        self, alike: Sequence[int], anchor: int, taken: frozenset[int]
    ) -> InterchangeableLeaves:
        first = self._bound.relationships[alike[0]]
        return InterchangeableLeaves(
            tuple(self._bound.relationships[each].other_end(anchor) for each in alike),
            tuple(alike),
            anchor,
            not first.directed or first.source == anchor,
            not first.directed or first.target == anchor,
            tuple(sorted(taken)),
        )

    # ------------------------------------------------------------------ clashes
    def _any_clash(self, one: InterchangeableLeaves, other: InterchangeableLeaves) -> bool:
        return any(self._clash(*pair) for pair in product(one.relationships, other.relationships))

    def _taken_by_core(self, position: int, leaves: Iterable[int]) -> frozenset[int]:
        return frozenset(
            each.position
            for each in self._bound.relationships
            if each.position not in leaves and self._clash(position, each.position)
        )

    def _can_subtract(self, position: int, taken: frozenset[int]) -> bool:
        """True if the nodes of a row determine how many relationships the core has taken."""
        leaf = self._bound.relationships[position]
        if taken and position in self._masks.relationships:
            return False
        relationships = [self._bound.relationships[each] for each in taken]
        return all(
            self._types(each) <= self._types(leaf) and (each.directed or not leaf.directed)
            for each in relationships
        ) and all(
            self._clash.must_differ(a.position, b.position)
            or self._types(a).isdisjoint(self._types(b))
            for a, b in combinations(relationships, 2)
        )

    def _paired(
        self, one: InterchangeableLeaves, other: InterchangeableLeaves
    ) -> DegreeMessage | None:
        """Two groups as one message; None if their common relationships cannot be counted."""
        all_apart = all(
            self._clash.must_differ(*pair)
            for pair in product(one.relationships, other.relationships)
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
        # A relationship taken from one group only (the other is in another clause) is still common.
        for each in {*one.taken} ^ {*other.taken}:
            overlaps = not self._types(self._bound.relationships[each]).isdisjoint(
                self._types(first)
            )
            if overlaps and not all(
                self._clash.must_differ(each, leaf.position) for leaf in (first, second)
            ):
                return None
        return self._message((one, other), tuple(sorted({*one.taken} & {*other.taken})))

    def _message(
        self, groups: tuple[InterchangeableLeaves, ...], taken: tuple[int, ...] = ()
    ) -> DegreeMessage:
        reads = {group.anchor for group in groups}
        for position in {*taken}.union(*(group.taken for group in groups)):
            each = self._bound.relationships[position]
            reads |= {each.source, each.target}
        return DegreeMessage(frozenset(reads), groups, taken)

    def _types(self, each: BoundRelationship) -> frozenset[int]:
        return type_ids(each, self._graph)
