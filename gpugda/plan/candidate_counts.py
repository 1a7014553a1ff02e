"""Candidate counts of query nodes, measured or estimated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CandidateCounts", "ExpectedCandidates"]


class CandidateCounts(Protocol):
    """Candidate counts of query nodes: all that a join planner needs to know about candidates."""

    @property
    def explored(self) -> bool:
        """True if every candidate has a fitting neighbour along each of its relationships."""

    def count(self, position: int) -> int:
        """The number of candidates of a query node."""


@dataclass(frozen=True, slots=True)
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
