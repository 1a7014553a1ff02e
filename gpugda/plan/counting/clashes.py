"""Pairs of query relationships that must differ and could otherwise be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.row_tests import PossibleOverlaps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery, RowTest

__all__ = ["Clashes", "is_distinctness_test"]


def is_distinctness_test(test: RowTest) -> bool:
    """True if the test requires two relationships to differ."""
    return not test.on_nodes and not test.equal and test.left != test.right


class Clashes:
    """The clashes of a pattern: call it with two relationships to learn whether they clash.

    Two query relationships clash if they must differ and could be bound to the same relationship.

    Attributes:
        overlaps: Which query relationships could be bound to the same data relationship.
    """

    def __init__(
        self, bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
    ) -> None:
        self._bound = bound
        # Per query relationship, a bitmap of those that it must differ from.
        self._must_differ = [0] * len(bound.relationships)
        for test in bound.tests:
            if is_distinctness_test(test):
                self._must_differ[test.left] |= 1 << test.right
                self._must_differ[test.right] |= 1 << test.left
        self.overlaps = PossibleOverlaps(bound, graph, comparisons)
        self._found: dict[int, int] = {}

    def __call__(self, a: int, b: int) -> bool:
        """True if the two must differ and could otherwise be the same."""
        return bool(self.of(a) >> b & 1)

    def of(self, a: int) -> int:
        """A bitmap of the relationships that this one clashes with."""
        if a not in self._found:
            found, first = 0, self._bound.relationships[a]
            clashing = self._must_differ[a] & self.overlaps.maybe_same[a]
            for each in self._bound.relationships if clashing else ():
                if clashing >> each.position & 1 and self.overlaps.can_coincide(first, each):
                    found |= 1 << each.position
            self._found[a] = found
        return self._found[a]

    def must_differ(self, a: int, b: int) -> bool:
        """True if the two must differ, even if they could never be the same."""
        return bool(self._must_differ[a] >> b & 1)

    def pairs(self) -> list[tuple[int, int]]:
        """All clashing pairs, each in ascending order."""
        every = range(len(self._must_differ))
        return [(a, b) for a in every for b in every[a + 1 :] if self(a, b)]
