"""The one model of how many rows a join makes: all orders, count plans, and the router ask it.

A node where a join starts has the mean of its relationships; one that was met along a relationship
has as many as nodes met so have in the mean (`met_rates.py`). Of the relationships to nodes that
are there the one with the fewest is followed, and the others select.

Where candidates were counted, those that are left have most of the relationships: having few of
them is what others were left out for. Of the nodes that have any, a share that is left has a root
of this share of the relationships: the higher, the more uneven they are.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.plan.candidate_counts import CandidateCounts
    from gpugda.plan.plan import BoundQuery, BoundRelationship, Met

__all__ = ["EACH_FURTHER", "Rates", "kept_share"]

EACH_FURTHER = 0.5
"""So much less each further relationship to the same node selects: neighbours of neighbours are
neighbours more often than chance would have it."""


def kept_share(shares: Iterable[float]) -> float:
    """What several relationships to one node leave of its candidates, each alone leaving a share.

    The least of them counts in full.
    """
    product, exponent = 1.0, 1.0
    for share in sorted(shares):
        product *= min(share, 1.0) ** exponent
        exponent *= EACH_FURTHER
    return product


class Rates:
    """Of one pattern.

    Args:
        bound: The pattern.
        candidates: Of its query nodes; None: as many as the plan expects.

    Attributes:
        counts: Of each query node, its candidates.
        implied: Relationships that do not select where others are there that join the same nodes.
    """

    def __init__(self, bound: BoundQuery, candidates: CandidateCounts | None = None) -> None:
        expected = [each.cardinality for each in bound.nodes]
        self.counts = expected
        left = [(1.0, 1.0)] * len(bound.relationships)
        if candidates is not None:
            self.counts = [float(candidates.count(node)) for node in range(len(expected))]
            left = [self._left(each) for each in bound.relationships]
        self.implied = _implied(bound)
        others = _least_by_others(bound, left)
        self._sources = [each.source for each in bound.relationships]
        self._at_ends = [
            tuple(
                self._of_end(each, end, expected[node], kept, others[end])
                for end, node in enumerate((each.source, each.target))
            )
            for each, kept, others in zip(bound.relationships, left, others, strict=True)
        ]

    def of(self, position: int, end: int, *, met: bool) -> float:
        """How many relationships that fit a candidate of this end has.

        Args:
            position: Of the query relationship.
            end: The query node that is there.
            met: Was it met along another relationship, or led one to others?
        """
        return self._at_ends[position][end != self._sources[position]][met]

    def _left(self, each: BoundRelationship) -> tuple[float, float]:
        """Shares of the relationships, by the candidates of the source and those of the target."""
        at_source, at_target = (
            self._share(self.counts[node], each.cardinality, met)
            for node, met in zip((each.source, each.target), each.met, strict=True)
        )
        return at_source, at_target

    @staticmethod
    def _share(count: float, relationships: float, met: Met) -> float:
        having = max(1.0, min(met.having, relationships))
        return min(1.0, max(count, 1.0) / having) ** met.evenness

    def _of_end(
        self,
        each: BoundRelationship,
        end: int,
        expected: float,
        kept: tuple[float, float],
        others: float,
    ) -> tuple[float, float]:
        """Of a candidate where the join starts, and of one that was met."""
        count = self.counts[each.target if end else each.source]
        first = each.cardinality * kept[0] * kept[1] / count if count else 0.0
        # That it is a candidate is known of who was met.
        met = each.met[end].rate * each.cardinality * kept[not end] / (max(expected, 1.0) * others)
        return first, met


def _least_by_others(
    bound: BoundQuery, left: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Of each relationship, at its ends, the least share that is left of others there."""
    around: list[list[tuple[float, int]]] = [[] for _ in bound.nodes]
    for each, (at_source, at_target) in zip(bound.relationships, left, strict=True):
        around[each.source].append((at_source, each.position))
        around[each.target].append((at_target, each.position))
    for shares in around:
        shares.sort()

    def least(node: int, position: int) -> float:
        return next((share for share, other in around[node] if other != position), 1.0)

    return [
        (least(each.source, each.position), least(each.target, each.position))
        for each in bound.relationships
    ]


def _implied(bound: BoundQuery) -> frozenset[int]:
    """Query relationships that others between the same nodes imply: what fits those fits them."""
    by_ends: dict[tuple[int, int], list[BoundRelationship]] = {}
    for each in bound.relationships:
        ends = min(each.source, each.target), max(each.source, each.target)
        by_ends.setdefault(ends, []).append(each)
    beside = [each for each in by_ends.values() if len(each) > 1]
    if not beside:
        return frozenset()
    apart = {(test.left, test.right) for test in bound.tests if not (test.on_nodes or test.equal)}
    found = set[int]()
    for one, other in (pair for each in beside for pair in combinations(each, 2)):
        if (one.position, other.position) in apart:
            continue
        if _implies(one, other):
            found.add(other.position)
        elif _implies(other, one):
            found.add(one.position)
    return frozenset(found)


def _implies(one: BoundRelationship, other: BoundRelationship) -> bool:
    fits = other.types is None or (one.types is not None and set(one.types) <= set(other.types))
    same_way = not other.directed or (one.directed and one.source == other.source)
    return fits and same_way and not other.predicates
