"""How many candidates query nodes have: counted, or about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CandidateCounts", "ExpectedCandidates"]


class CandidateCounts(Protocol):
    """How many candidates query nodes have, which is all that plans of a join ask."""

    @property
    def explored(self) -> bool:
        """Does each candidate have a fitting neighbour along each relationship?"""

    def count(self, position: int) -> int:
        """Number of a query node's candidates."""


@dataclass(frozen=True, slots=True)
class ExpectedCandidates:
    """Of a query that was not filtered, but made of one that was.

    Args:
        counts: By position of the query node.
        explored: As of the query that was filtered.
    """

    counts: Sequence[int]
    explored: bool = False

    def count(self, position: int) -> int:
        """Number of a query node's candidates, about."""
        return self.counts[position]
