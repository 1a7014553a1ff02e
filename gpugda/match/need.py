"""What a caller needs from a strategy: rows, their count, or groups of them."""

from __future__ import annotations

from dataclasses import field
from typing import TypeAlias, TypeGuard

from gpugda.types import value

__all__ = ["Count", "Groups", "Need", "Rows", "asks_for_one_node"]


@value(frozen=True, slots=True)
class Rows:
    """Embeddings, with the columns that the caller reads.

    Args:
        nodes: Positions of the query nodes that are read.
        relationships: Positions of the query relationships that are read.
        enough: Number of embeddings after which the caller stops, approximately; None if it reads
            all. It makes the first chunks small. Needs that differ in this alone are equal.
    """

    nodes: frozenset[int]
    relationships: frozenset[int]
    enough: int | None = field(default=None, compare=False)


@value(frozen=True, slots=True)
class Count:
    """The number of embeddings."""


@value(frozen=True, slots=True)
class Groups:
    """The tuples of data nodes that some query nodes are bound to.

    Args:
        nodes: Positions of the query nodes, at least one, ascending.
        counted: True if the multiplicity of each tuple is needed, otherwise only the distinct
            tuples.
        streamed: True if the caller may stop before it has read all tuples.
    """

    nodes: tuple[int, ...]
    counted: bool
    streamed: bool

    @property
    def rows(self) -> Rows:
        """The need for the rows that are grouped."""
        return Rows(frozenset(self.nodes), frozenset())


Need: TypeAlias = Rows | Count | Groups


def asks_for_one_node(need: Need) -> TypeGuard[Groups]:
    """True if the distinct data nodes at one query node are needed."""
    return isinstance(need, Groups) and not need.counted and len(need.nodes) == 1
