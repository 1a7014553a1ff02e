"""What is to be counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpugda.match.candidates.candidates import ExpectedCandidates

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.candidates import CandidateCounts
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.counting.count_plan import Part
    from gpugda.plan.plan import BoundQuery

__all__ = ["CountProblem"]


@dataclass(frozen=True, slots=True, eq=False)
class CountProblem:
    """A pattern whose embeddings are counted.

    Args:
        bound: The pattern.
        graph: What it is asked of.
        masks: What predicates leave.
        candidates: Of the query nodes.
        grouped: Query nodes by which embeddings are counted.
    """

    bound: BoundQuery
    graph: DataGraph
    masks: Masks
    candidates: CandidateCounts
    grouped: tuple[int, ...] = ()

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
            candidates=ExpectedCandidates(part.counts),
            grouped=part.grouped,
        )
