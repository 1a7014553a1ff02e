"""What is to be counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gpugda.plan.candidate_counts import ExpectedCandidates

if TYPE_CHECKING:
    from collections.abc import Callable, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.candidate_counts import CandidateCounts
    from gpugda.plan.counting.count_plan import Part
    from gpugda.plan.join_rates import Corrections
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery

__all__ = ["CountProblem"]


def _never(problem: CountProblem) -> bool:
    return False


def _nothing_adds_up(
    problem: CountProblem, pattern: BoundQuery, nodes: Set[int], first: int
) -> bool:
    return False


@dataclass(frozen=True, slots=True, eq=False)
class CountProblem:
    """A pattern whose embeddings are counted.

    Args:
        bound: The pattern.
        graph: What it is asked of.
        masks: What predicates leave.
        candidates: Of the query nodes.
        grouped: Query nodes by which embeddings are counted.
        is_cycle: Is a pattern a cycle that is counted without rows?
        adds_up: Are some nodes of a pattern, which has those of its tests that count, a cycle
            that is added up without rows by one of them?
        corrections: See `Rates`.
    """

    bound: BoundQuery
    graph: DataGraph
    masks: Masks
    candidates: CandidateCounts
    grouped: tuple[int, ...] = ()
    is_cycle: Callable[[CountProblem], bool] = _never
    adds_up: Callable[[CountProblem, BoundQuery, Set[int], int], bool] = _nothing_adds_up
    corrections: Corrections = field(default_factory=dict)

    @property
    def counts(self) -> tuple[int, ...]:
        """Of each query node, how many candidates."""
        return tuple(self.candidates.count(node) for node in range(len(self.bound.nodes)))

    def of(self, part: Part) -> CountProblem:
        """The problem of a part."""
        return replace(
            self,
            bound=part.pattern,
            masks=part.masks(self.masks),
            corrections={},
            candidates=ExpectedCandidates(part.counts, self.candidates.explored),
            grouped=tuple(sorted(set(part.grouped))),
        )
