"""Estimated partial embeddings while a pattern is joined, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.join_rates import FURTHER_LINK_DAMPING, Rates

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["PartialRows"]

_MAX_ROWS = 1e290
"""Far more than any machine holds. A larger product of estimates would become infinity, which
cannot be converted to bytes or seconds."""


class PartialRows:
    """The bound query nodes and relationships, and the estimated rows.

    Attributes:
        nodes: Positions of the bound query nodes, in the order of binding.
        rows: Estimated partial embeddings.
    """

    def __init__(self, bound: BoundQuery) -> None:
        self._bound = bound
        self._rates = Rates(bound)
        self.nodes: dict[int, None] = {}
        self.rows = 1.0
        self._relationships: set[int] = set()
        self._links: dict[int, int] = {}
        """Relationships that led to each query node that is an end of a bound relationship."""
        self._equalities = [test for test in bound.tests if test.equal]

    def extension_rate(self, each: BoundRelationship, node: int) -> float:
        """Rows out per row in if a relationship is followed from this bound node."""
        return self._rates.of(each.position, node, reached=node in self._links)

    def closing_rate(self, each: BoundRelationship) -> float:
        """Rows out per row in if both ends of a relationship are bound."""
        source, target = each.source, each.target
        if source == target:
            return each.cardinality / max(self._rates.counts[source], 1.0)
        if each.position in self._rates.implied:
            return 1.0
        order = list(self.nodes)
        earlier, node = sorted((source, target), key=order.index)
        share = self._rates.of(each.position, earlier, reached=True) / max(
            self._rates.counts[node], 1.0
        )
        return float(min(share, 1.0) ** FURTHER_LINK_DAMPING ** max(self._links.get(node, 0), 1))

    def bind_node(self, position: int) -> None:
        """Marks a query node as bound."""
        self.nodes[position] = None

    def bind_relationship(self, each: BoundRelationship) -> list[int]:
        """Marks a query relationship and its ends as bound; returns the newly bound ends."""
        self._relationships.add(each.position)
        ends = list(dict.fromkeys((each.source, each.target)))
        new = [end for end in ends if end not in self.nodes]
        self.nodes.update(dict.fromkeys(new))
        if len(ends) > 1:
            order = list(self.nodes)
            earlier, node = sorted(ends, key=order.index)
            self._links.setdefault(earlier, 0)
            self._links[node] = self._links.get(node, 0) + 1
        return new

    def grow(self, rate: float) -> float:
        """Rows after a step with this extension rate, including newly decidable equality tests."""
        self.rows = min(self.rows * rate * self._equality_share(), _MAX_ROWS)
        return self.rows

    def _equality_share(self) -> float:
        """Selectivity of the equality tests whose two sides are now bound."""
        share = 1.0
        waiting = []
        for test in self._equalities:
            bound = self.nodes if test.on_nodes else self._relationships
            if test.left in bound and test.right in bound:
                share /= max(1.0, *self._cardinalities(test))
            else:
                waiting.append(test)
        self._equalities = waiting
        return share

    def _cardinalities(self, test: RowTest) -> tuple[float, float]:
        of = self._bound.nodes if test.on_nodes else self._bound.relationships
        return of[test.left].cardinality, of[test.right].cardinality
