"""Order in which a server lists the labels of a node, learnt from the nodes seen so far."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["LabelOrder"]


class LabelOrder:
    """A total order of all labels, known only for labels that were seen together.

    Shared by all states of a database: what was learnt stays true.

    Args:
        listed: Labels of nodes, each in the server's order.
        listed: Labels of nodes, each as the server lists them.
    """

    def __init__(self, listed: Iterable[Sequence[str]] = ()) -> None:
        self._next: dict[str, set[str]] = {}
        self._known: dict[tuple[str, str], bool] = {}
        for each in listed:
            self.add(each)

    def add(self, labels: Sequence[str]) -> None:
        """Learns from the labels of one node."""
        for first, second in pairwise(labels):
            self._next.setdefault(first, set()).add(second)

    def knows(self, labels: Iterable[str]) -> bool:
        """True if the server's order of these labels is known."""
        pairs = combinations(labels, 2)
        return all(self._before(*pair) or self._before(*reversed(pair)) for pair in pairs)

    def listed(self, labels: Iterable[str]) -> list[str]:
        """The labels in the server's order; pairs of unknown order stay as given."""
        return sorted(labels, key=cmp_to_key(self._compared))

    def _compared(self, first: str, second: str) -> int:
        return self._before(second, first) - self._before(first, second)

    def _before(self, first: str, second: str) -> bool:
        if self._known.get((first, second)) or self._reaches(first, second):
            self._known[first, second] = True
            return True
        return False

    def _reaches(self, first: str, second: str) -> bool:
        seen, left = {first}, [first]
        while left:
            for label in self._next.get(left.pop(), ()):
                if label == second:
                    return True
                if label not in seen:
                    seen.add(label)
                    left.append(label)
        return False
