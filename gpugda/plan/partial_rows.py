"""How many partial embeddings are expected while a pattern is joined, in whatever order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.join_rates import EACH_FURTHER, Rates

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery, BoundRelationship, RowTest

__all__ = ["PartialRows"]

_MOST_ROWS = 1e290
"""Far beyond what any machine holds: a product of more estimates would become infinity, which bytes
and seconds cannot be made of."""


class PartialRows:
    """The query nodes and relationships that are bound, and the rows expected of them.

    Attributes:
        nodes: Positions of the query nodes that are bound, the first one first.
        rows: Expected partial embeddings.
    """

    def __init__(self, bound: BoundQuery) -> None:
        self._bound = bound
        self._rates = Rates(bound)
        self.nodes: dict[int, None] = {}
        self.rows = 1.0
        self._relationships: set[int] = set()
        self._links: dict[int, int] = {}
        """Of query nodes that were met along relationships, how many led there from others."""
        self._equalities = [test for test in bound.tests if test.equal]

    def extension_rate(self, each: BoundRelationship, node: int) -> float:
        """Rows out per row in when a relationship is followed from this node, which is bound."""
        return self._rates.of(each.position, node, met=node in self._links)

    def closing_rate(self, each: BoundRelationship) -> float:
        """Rows out per row in when both ends of a relationship are bound."""
        source, target = each.source, each.target
        if source == target:
            return each.cardinality / max(self._rates.counts[source], 1.0)
        if each.position in self._rates.implied:
            return 1.0
        order = list(self.nodes)
        begun, node = sorted((source, target), key=order.index)
        share = self._rates.of(each.position, begun, met=True) / max(self._rates.counts[node], 1.0)
        return float(min(share, 1.0) ** EACH_FURTHER ** max(self._links.get(node, 0), 1))

    def bind_node(self, position: int) -> None:
        """A query node is there."""
        self.nodes[position] = None

    def bind_relationship(self, each: BoundRelationship) -> list[int]:
        """A query relationship is there, and with it its ends: those that were not."""
        self._relationships.add(each.position)
        ends = list(dict.fromkeys((each.source, each.target)))
        new = [end for end in ends if end not in self.nodes]
        self.nodes.update(dict.fromkeys(new))
        if len(ends) > 1:
            order = list(self.nodes)
            begun, node = sorted(ends, key=order.index)
            self._links.setdefault(begun, 0)
            self._links[node] = self._links.get(node, 0) + 1
        return new

    def grow(self, rate: float) -> float:
        """The rows after a step that makes so many of each; what is there now passes its tests."""
        self.rows = min(self.rows * rate * self._equality_share(), _MOST_ROWS)
        return self.rows

    def _equality_share(self) -> float:
        """What tests for equality leave whose both sides are bound now."""
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
