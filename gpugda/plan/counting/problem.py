"""The count problem: the input of the search for a count plan."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

from gpugda.plan.join.join_rates import ExpectedCandidates
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.counting.count_plan import Part
    from gpugda.plan.join.join_rates import CandidateCounts, Corrections
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["CountProblem", "may_be_cycle"]


def may_be_cycle(relationships: Sequence[BoundRelationship]) -> bool:
    """True if their number is that of a cycle that is counted without rows."""
    return len(relationships) in (3, 4)


def _never(problem: CountProblem) -> bool:
    return False


def _cannot_sum_cycle(
    problem: CountProblem, pattern: BoundQuery, nodes: Set[int], first: int
) -> bool:
    return False


@value(frozen=True, slots=True, eq=False)
class CountProblem:
    """A pattern whose embeddings are counted.

    Args:
        bound: The pattern.
        graph: The data graph.
        masks: The evaluated predicates.
        candidates: Candidate counts of the query nodes.
        grouped: Grouping nodes: the count is per tuple of their data nodes.
        is_cycle: True for a pattern that is a cycle with a kernel that counts it without rows.
        can_sum_cycle: True if some nodes of a pattern (with their own tests) form a cycle that can
            be summed without rows at one of its nodes.
        corrections: See `Rates`.
    """

    bound: BoundQuery
    graph: DataGraph
    masks: Masks
    candidates: CandidateCounts
    grouped: tuple[int, ...] = ()
    is_cycle: Callable[[CountProblem], bool] = _never
    can_sum_cycle: Callable[[CountProblem, BoundQuery, Set[int], int], bool] = _cannot_sum_cycle
    corrections: Corrections = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, ...]:
        """Candidates per query node."""
        return tuple(self.candidates.count(node) for node in range(len(self.bound.nodes)))

    def of(self, part: Part) -> CountProblem:
        """The count problem of a part."""
        return replace(
            self,
            bound=part.pattern,
            masks=part.masks(self.masks),
            corrections={},
            candidates=ExpectedCandidates(part.counts, self.candidates.explored),
            grouped=tuple(sorted(set(part.grouped))),
        )
