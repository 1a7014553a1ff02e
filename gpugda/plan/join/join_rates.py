"""Candidate counts of query nodes, measured or estimated."""

from __future__ import annotations

from itertools import combinations
from math import inf
from typing import TYPE_CHECKING, Protocol

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpugda.plan.plan import BoundQuery, BoundRelationship, DegreeSkew
    from gpugda.thresholds import CountThresholds

    RateKey = tuple[int, int, bool]
    """Arguments of `Rates.of`: position of the relationship, bound end, whether it was reached."""
    Corrections = Mapping[RateKey, float]
    """Factor by which each rate has to be multiplied."""
    EndRates = tuple[tuple[float, float], tuple[float, float]]
    """At the source and at the target: rate if the join starts there, rate if it was reached."""

__all__ = [
    "FURTHER_LINK_DAMPING",
    "ROW_COST",
    "CandidateCounts",
    "ExpectedCandidates",
    "Rates",
    "combined_selectivity",
]


class CandidateCounts(Protocol):
    """Candidate counts of query nodes: all that a join planner needs to know about candidates."""

    @property
    def explored(self) -> bool:
        """True if every candidate has a fitting neighbour along each of its relationships."""

    def count(self, position: int) -> int:
        """The number of candidates of a query node."""


@value(frozen=True, slots=True)
class ExpectedCandidates:
    """Estimated counts, for a query that was derived from a filtered query.

    Args:
        counts: Candidates by position of the query node.
        explored: The same flag of the filtered query.
    """

    counts: Sequence[int]
    explored: bool = False

    def count(self, position: int) -> int:
        """The estimated number of candidates of a query node."""
        return self.counts[position]


ROW_COST = 4.0
"""Cost of creating a row, in tested pairs."""
FURTHER_LINK_DAMPING = 0.5
"""Damping exponent for each further relationship to the same node: neighbours of neighbours are
neighbours more often than independence would predict."""


def combined_selectivity(shares: Iterable[float]) -> float:
    """Combined selectivity of several relationships to one node, from their single selectivities.

    The most selective one counts in full, each further one less.
    """
    product, exponent = 1.0, 1.0
    for share in sorted(shares):
        if share >= 1.0:
            break
        product *= share**exponent
        exponent *= FURTHER_LINK_DAMPING
    return product


class Rates:
    """Candidate counts and extension rates of one pattern.

    Args:
        bound: The pattern.
        candidates: The candidate counts; None takes the plan's cardinalities.
        corrections: Correction factors from earlier runs of the query.
        thresholds: The device's thresholds; None if no device is known yet.

    Attributes:
        counts: Candidates per query node.
        end_rates: The rates per relationship, as `of` gives them.
        list_search: See `CountThresholds`.
        order_pairs: See `CountThresholds`.
        implied: Positions of relationships that do not select, as parallel query relationships
            imply them.
    """

    def __init__(
        self,
        bound: BoundQuery,
        candidates: CandidateCounts | None = None,
        corrections: Corrections | None = None,
        *,
        thresholds: CountThresholds | None = None,
    ) -> None:
        self.list_search = thresholds.list_search if thresholds else 1.0
        self.order_pairs = thresholds.order_pairs if thresholds else inf
        expected = [each.cardinality for each in bound.nodes]
        self._sources = [each.source for each in bound.relationships]
        self._targets = [each.target for each in bound.relationships]
        self.implied = _implied(bound)
        self.counts = expected
        if candidates is None:
            self.end_rates = [_expected_end_rates(each, expected) for each in bound.relationships]
            return
        counts = self.counts = [float(candidates.count(node)) for node in range(len(expected))]
        left = [_remaining_shares(each, counts) for each in bound.relationships]
        least = _min_shares(bound, left)
        self.end_rates = [
            _end_rates(each, expected, counts, left[each.position], least)
            for each in bound.relationships
        ]
        if candidates.explored:
            self.end_rates = [
                (_at_least_one(*source), _at_least_one(*target))
                for source, target in self.end_rates
            ]
        if corrections:
            self.end_rates = [self._corrected(number, corrections) for number in range(len(left))]

    def of(self, position: int, end: int, *, reached: bool) -> float:
        """Fitting relationships per candidate of one end: the extension rate from that end.

        Args:
            position: The query relationship.
            end: The bound query node.
            reached: True if this node was reached along another relationship or another node was
                reached from it.
        """
        return self.end_rates[position][end != self._sources[position]][reached]

    def _corrected(self, position: int, corrections: Corrections) -> EndRates:
        ends = self._sources[position], self._targets[position]
        (source, reached_source), (target, reached_target) = (
            (
                first * corrections.get((position, end, False), 1.0),
                reached * corrections.get((position, end, True), 1.0),
            )
            for end, (first, reached) in zip(ends, self.end_rates[position], strict=True)
        )
        return (source, reached_source), (target, reached_target)


def _expected_end_rates(each: BoundRelationship, expected: Sequence[float]) -> EndRates:
    """Rates before candidates are counted."""
    count = each.cardinality
    source, target = expected[each.source], expected[each.target]
    at_source, at_target = each.skew
    return (
        (count / source if source else 0.0, count / max(source, 1.0) * at_source.reached_ratio),
        (count / target if target else 0.0, count / max(target, 1.0) * at_target.reached_ratio),
    )


def _remaining_shares(each: BoundRelationship, counts: Sequence[float]) -> tuple[float, float]:
    """Shares of the relationships that the remaining candidates of source and target keep."""
    at_source, at_target = each.skew
    return (
        _remaining_share(
            counts[each.source], min(at_source.nonzero_count, each.cardinality), at_source
        ),
        _remaining_share(
            counts[each.target], min(at_target.nonzero_count, each.cardinality), at_target
        ),
    )


def _remaining_share(count: float, nonzero_count: float, skew: DegreeSkew) -> float:
    if count >= nonzero_count or nonzero_count <= 1.0:
        return 1.0
    return float((max(count, 1.0) / nonzero_count) ** skew.evenness)


def _end_rates(
    each: BoundRelationship,
    expected: Sequence[float],
    counts: Sequence[float],
    left: tuple[float, float],
    least: Sequence[tuple[float, int, float]],
) -> EndRates:
    """Rates from counted candidates."""
    of_source, of_target = left
    relationships = each.cardinality * of_source * of_target
    source, target = each.source, each.target
    at_source, at_target = each.skew
    # A reached node is a candidate already, so its own selectivity does not apply again.
    reached_source = (
        at_source.reached_ratio * each.cardinality * of_target / max(expected[source], 1.0)
    )
    reached_target = (
        at_target.reached_ratio * each.cardinality * of_source / max(expected[target], 1.0)
    )
    return (
        (
            relationships / (counts[source] or 1.0),
            reached_source / _min_other_share(least[source], each.position),
        ),
        (
            relationships / (counts[target] or 1.0),
            reached_target / _min_other_share(least[target], each.position),
        ),
    )


def _at_least_one(first: float, reached: float) -> tuple[float, float]:
    """Rates are at least 1 if candidates without a fitting neighbour were filtered out."""
    return max(first, 1.0), max(reached, 1.0)


def _min_shares(
    bound: BoundQuery, left: Sequence[tuple[float, float]]
) -> list[tuple[float, int, float]]:
    """Per query node: the least remaining share, its relationship, and the second least share."""
    found = [(1.0, -1, 1.0)] * len(bound.nodes)
    for each in bound.relationships:
        for node, share in zip((each.source, each.target), left[each.position], strict=True):
            if share < 1.0:
                first, position, second = found[node]
                if share < first:
                    found[node] = share, each.position, first
                elif share < second:
                    found[node] = first, position, share
    return found


def _min_other_share(least: tuple[float, int, float], position: int) -> float:
    return least[2] if least[1] == position else least[0]


def _implied(bound: BoundQuery) -> frozenset[int]:
    """Query relationships that a parallel one implies: every match of that one also fits them."""
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
