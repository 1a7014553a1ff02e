"""What is asked of a strategy: rows, how many there are, or groups of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Count", "Groups", "Need", "Rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Embeddings, with the columns that are read of them.

    Args:
        nodes: Positions of the query nodes that are read.
        relationships: Positions of the query relationships that are read.
        enough: After about so many embeddings the caller leaves, None if it does not: the first
            chunks are small then. Needs that differ in this alone are equal.
    """

    nodes: frozenset[int]
    relationships: frozenset[int]
    enough: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Count:
    """How many embeddings there are."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Which tuples of nodes some query nodes take.

    Args:
        nodes: Positions of the query nodes, at least one, rising.
        counted: How often each tuple comes? Else only which there are.
        streamed: May the caller leave before it has all of them?
    """

    nodes: tuple[int, ...]
    counted: bool
    streamed: bool

    @property
    def rows(self) -> Rows:
        """The rows that are grouped."""
        return Rows(frozenset(self.nodes), frozenset())


Need: TypeAlias = Rows | Count | Groups
