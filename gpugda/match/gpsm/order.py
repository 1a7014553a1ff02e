"""The order of the join, from counted candidates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.plan.plan import PlanStep, StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["join_order"]


def join_order(
    bound: BoundQuery,
    node_count: Callable[[int], int],
    relationship_counts: Mapping[int, int],
) -> tuple[PlanStep, ...]:
    """Starts at the query relationship with the fewest candidates, then takes the connected ones.

    Of these, one that closes comes first (it takes rows away), else the one of least growth.
    Further components follow as products, single query nodes last.

    Args:
        bound: The query.
        node_count: Number of candidates per position of a query node.
        relationship_counts: Number of candidate relationships per position.
    """
    order = _Order(bound, node_count, relationship_counts)
    while order.left:
        order.next_relationship()
    for node in sorted(bound.nodes, key=lambda node: node_count(node.position)):
        if node.position not in order.reached:
            count = node_count(node.position)
            order.add(StepKind.NODES, node.position, -1, count, f"{count:,} candidates")
    return tuple(order.steps)


@dataclass(slots=True)
class _Order:
    bound: BoundQuery
    node_count: Callable[[int], int]
    counts: Mapping[int, int]
    left: set[int] = field(default_factory=set)
    reached: set[int] = field(default_factory=set)
    steps: list[PlanStep] = field(default_factory=list)
    cardinality: float = 1.0

    def __post_init__(self) -> None:
        self.left = {each.position for each in self.bound.relationships}

    def next_relationship(self) -> None:
        connected = [each for each in self._left() if self._ends(each) & self.reached]
        closing = [each for each in connected if self._ends(each) <= self.reached]
        if closing:
            self._close(min(closing, key=lambda each: (self._kept(each), each.position)))
        elif connected:
            self._combine(min(connected, key=lambda each: (self._growth(each), each.position)))
        else:
            fewest = min(self._left(), key=lambda each: (self.counts[each.position], each.position))
            count = self.counts[fewest.position]
            reason = f"fewest candidate relationships: {count:,}"
            self.add(StepKind.RELATIONSHIPS, fewest.position, -1, count, reason)
        self.reached |= self._ends(self.bound.relationships[self.steps[-1].position])
        self.left.discard(self.steps[-1].position)

    def add(
        self, kind: StepKind, position: int, bound_end: int, factor: float, reason: str
    ) -> None:
        self.cardinality *= factor
        self.steps.append(PlanStep(kind, position, bound_end, self.cardinality, reason))
        if kind is StepKind.NODES:
            self.reached.add(position)

    def _close(self, each: BoundRelationship) -> None:
        self.add(StepKind.CLOSE, each.position, -1, self._kept(each), "both ends are bound")

    def _combine(self, each: BoundRelationship) -> None:
        growth = self._growth(each)
        reason = f"least growth: about {growth:.2g} rows per row"
        self.add(StepKind.COMBINE, each.position, self._bound_end(each), growth, reason)

    def _left(self) -> list[BoundRelationship]:
        return [each for each in self.bound.relationships if each.position in self.left]

    def _ends(self, each: BoundRelationship) -> set[int]:
        return {each.source, each.target}

    def _bound_end(self, each: BoundRelationship) -> int:
        return each.source if each.source in self.reached else each.target

    def _growth(self, each: BoundRelationship) -> float:
        return self.counts[each.position] / self.node_count(self._bound_end(each))

    def _kept(self, each: BoundRelationship) -> float:
        pairs = self.node_count(each.source)
        if each.source != each.target:
            pairs *= self.node_count(each.target)
        return self.counts[each.position] / pairs
