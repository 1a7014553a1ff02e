"""Decomposes a query graph into STwigs: roots with neighbours, covering each relationship once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["Stwig", "decompose"]


@dataclass(frozen=True, slots=True)
class Stwig:
    """A query node and some of its relationships.

    Args:
        root: Position of the query node.
        relationships: Its relationships here, including self-loops; empty for an isolated node.
    """

    root: int
    relationships: tuple[BoundRelationship, ...]

    @property
    def leaves(self) -> tuple[int, ...]:
        """The nodes at the other ends, each once."""
        ends = [each.other_end(self.root) for each in self.relationships]
        return tuple(dict.fromkeys(end for end in ends if end != self.root))

    @property
    def nodes(self) -> tuple[int, ...]:
        """Root and leaves."""
        return self.root, *self.leaves


def decompose(bound: BoundQuery, count: Callable[[int], float]) -> list[Stwig]:
    """STwigs in matching order; a later root occurs in an earlier STwig if possible.

    The next relationship is the one whose ends have many relationships and few candidates (degree
    divided by candidates, summed); each of its ends then takes all its remaining relationships.

    Args:
        bound: The query.
        count: Number of candidates of a query node.
    """
    maker = _Maker(bound, count)
    while maker.left:
        maker.take_next()
    reached = {node for each in maker.stwigs for node in each.nodes}
    alone = [Stwig(node.position, ()) for node in bound.nodes if node.position not in reached]
    return maker.stwigs + sorted(alone, key=lambda each: count(each.root))


class _Maker:
    def __init__(self, bound: BoundQuery, count: Callable[[int], float]) -> None:
        self.left = list(bound.relationships)
        self.stwigs: list[Stwig] = []
        self._reached: set[int] = set()
        self._count = count

    def take_next(self) -> None:
        linked = [each for each in self.left if {each.source, each.target} & self._reached]
        chosen = max(linked or self.left, key=lambda each: (self._rank(each), -each.position))
        ends = sorted({chosen.source, chosen.target}, key=self._order)
        for root in ends:
            own = tuple(each for each in self.left if root in (each.source, each.target))
            if own:
                self.stwigs.append(Stwig(root, own))
                self._reached.update(self.stwigs[-1].nodes)
                self.left = [each for each in self.left if each not in own]

    def _order(self, node: int) -> tuple[bool, float, int]:
        is_new = bool(self._reached) and node not in self._reached
        return is_new, -self._selectivity(node), node

    def _rank(self, each: BoundRelationship) -> float:
        return self._selectivity(each.source) + self._selectivity(each.target)

    def _selectivity(self, node: int) -> float:
        degree = sum(node in (each.source, each.target) for each in self.left)
        return degree / max(self._count(node), 1)
