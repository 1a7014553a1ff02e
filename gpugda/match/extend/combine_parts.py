"""Combines the counts of parts, in total or by group."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpugda.match.need import Groups
from gpugda.match.tuple_counts import TupleCounts, multiply_counts, subtract_counts
from gpugda.plan.counting.count_plan import Product
from gpugda.types import MAX_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpugda.match.embeddings import Embeddings
    from gpugda.plan.counting.count_plan import Part, Sum

    Nodes = tuple[int, ...]

__all__ = ["CountsInParts"]


@dataclass(frozen=True, slots=True, eq=False)
class CountsInParts:
    """Adds and multiplies the counts of parts.

    Args:
        count: Counts a part's embeddings.
        groups: Counts a part's embeddings by some of its query nodes.
        check: Called often; raises when it is time to give up.
    """

    count_part: Callable[[Part], int]
    groups_of_part: Callable[[Part, Groups], Iterable[Embeddings]]
    check: Callable[[], None]

    def count(self, plan: Product | Sum) -> int | None:
        """The number of embeddings.

        Returns None if it is unknown: a term whose tables saturated at 2**63 has an unknown count,
        even if all terms together are fewer.
        """
        if isinstance(plan, Product):
            return math.prod(map(self.count_part, plan.factors))
        total = 0
        for term in plan.terms:
            found = self.count_part(term)
            if found >= int(MAX_WEIGHT):
                return None
            total += term.sign * found
        return total

    def groups(self, plan: Product | Sum, nodes: Nodes) -> Embeddings | None:
        """Each tuple of data nodes of some query nodes once, with its multiplicity.

        Returns None if it is unknown, because a multiplicity of a part saturated.
        """
        if isinstance(plan, Product):
            # All nodes are in the same factor.
            times = math.prod(self.count_part(each) for each in plan.factors if not each.grouped)
            (grouped,) = (each for each in plan.factors if each.grouped)
            return multiply_counts(self._found(grouped, nodes), times)
        sides = {sign: self._no_tuples(nodes) for sign in (1, -1)}
        for term in plan.terms:
            sides[term.sign].add(self._found(term, nodes))
        more, less = (sides[sign].found() for sign in (1, -1))
        return (
            None
            if _has_too_many(more) or _has_too_many(less)
            else subtract_counts(nodes, more, less)
        )

    def _found(self, part: Part, nodes: Nodes) -> Embeddings:
        """The groups of a part, with the positions of the whole query's nodes."""
        wanted = Groups(tuple(sorted(set(part.grouped))), counted=True, streamed=False)
        tuples = self._no_tuples(nodes)
        for chunk in self.groups_of_part(part, wanted):
            places = zip(nodes, part.grouped, strict=True)
            tuples.add(replace(chunk, nodes={node: chunk.nodes[place] for node, place in places}))
        return tuples.found()

    def _no_tuples(self, nodes: Nodes) -> TupleCounts:
        return TupleCounts(nodes, counted=True, check=self.check)


def _has_too_many(found: Embeddings) -> bool:
    return found.weights is not None and bool((found.weights >= MAX_WEIGHT).any())
