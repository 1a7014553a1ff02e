"""Pairs of query relationships that must differ and could otherwise be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.row_tests import Meetings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery, RowTest

__all__ = ["Clashes", "keeps_apart"]


def keeps_apart(test: RowTest) -> bool:
    """True if the test requires two relationships to differ."""
    return not test.on_nodes and not test.equal and test.left != test.right


class Clashes:
    """The clashes of a pattern: call it with two relationships to learn whether they clash.

    Two query relationships clash if they must differ and could be bound to the same relationship.

    Attributes:
        meetings: Which query relationships could be bound to the same data relationship.
    """

    def __init__(
        self, bound: BoundQuery, graph: DataGraph, comparisons: Sequence[Comparison] = ()
    ) -> None:
        self._bound = bound
        # Per query relationship, a bitmap of those that it must differ from.
        self._apart = [0] * len(bound.relationships)
        for test in bound.tests:
            if keeps_apart(test):
                self._apart[test.left] |= 1 << test.right
                self._apart[test.right] |= 1 << test.left
        self.meetings = Meetings(bound, graph, comparisons)
        self._found: dict[int, int] = {}

    def __call__(self, a: int, b: int) -> bool:
        """True if the two must differ and could otherwise be the same."""
        return bool(self.of(a) >> b & 1)

    def of(self, a: int) -> int:
        """A bitmap of the relationships that this one clashes with."""
        if a not in self._found:
            found, first = 0, self._bound.relationships[a]
            near = self._apart[a] & self.meetings.near[a]
            for each in self._bound.relationships if near else ():
                if near >> each.position & 1 and self.meetings.can_meet(first, each):
                    found |= 1 << each.position
            self._found[a] = found
        return self._found[a]

    def are_apart(self, a: int, b: int) -> bool:
        """True if the two must differ, even if they could never be the same."""
        return bool(self._apart[a] >> b & 1)

    def pairs(self) -> list[tuple[int, int]]:
        """All clashing pairs, each in ascending order."""
        every = range(len(self._apart))
        return [(a, b) for a in every for b in every[a + 1 :] if self(a, b)]
