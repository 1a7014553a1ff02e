"""Pages of ids: the units in which nodes and relationships are requested from a database.

The server finds the ids of a page by seeks, so a page's cost depends on its width and never needs a
scan. The width also bounds a transaction's memory, even if one node has a million relationships.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "HubPart",
    "IdList",
    "IdRange",
    "Pace",
    "Page",
    "cut",
    "occupied_ranges",
    "parts_of_hub",
    "ranges",
]

_DENSE = 2
"""Ids are requested as a range if at least one id in this many is wanted."""

_RANGE = "range($first, $last)"
# If the condition contained the list itself, the planner would know its length and might prefer a
# scan; UNWIND takes the server a third longer.
_MATCH = "WITH {ids} AS ids MATCH {pattern} WHERE id({variable}) IN ids"
_MAX_PARTS = 1 << 20


class Page(Protocol):
    """The ids of one query."""

    def __len__(self) -> int: ...

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches the pattern where the variable has one of these ids."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the Cypher text."""

    @property
    def described(self) -> str:
        """Description for error messages."""

    def pieces(self) -> tuple[Page, ...]:
        """The page in smaller parts; empty if it cannot be divided."""


@dataclass(frozen=True, slots=True)
class IdRange:
    """All ids from ``first`` to ``last``, some of which may be unused."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches the pattern where the variable has one of these ids."""
        return _MATCH.format(ids=_RANGE, pattern=pattern, variable=variable)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the Cypher text."""
        return {"first": self.first, "last": self.last}

    @property
    def described(self) -> str:
        """Description for error messages."""
        return f"ids {self.first} to {self.last}"

    def pieces(self) -> tuple[Page, ...]:
        """The page in two halves."""
        if len(self) < 2:
            return ()
        middle = (self.first + self.last) // 2
        return IdRange(self.first, middle), IdRange(middle + 1, self.last)


@dataclass(frozen=True, slots=True, eq=False)
class IdList:
    """Given ids, increasing; if they are dense, the ids between them are included, too.

    Args:
        numbers: The ids.
        exact: True if no other ids may be included.
    """

    numbers: NDArray[np.int64]
    exact: bool = False

    def __len__(self) -> int:
        return len(self.numbers)

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches the pattern where the variable has one of these ids."""
        ids = _RANGE if self._dense else "$ids"
        return _MATCH.format(ids=ids, pattern=pattern, variable=variable)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the Cypher text."""
        if self._dense:
            return {"first": int(self.numbers[0]), "last": int(self.numbers[-1])}
        return {"ids": self.numbers.tolist()}

    @property
    def _dense(self) -> bool:
        count = 0 if self.exact else len(self.numbers)
        return count > 0 and int(self.numbers[-1]) - int(self.numbers[0]) < _DENSE * count

    @property
    def described(self) -> str:
        """Description for error messages."""
        return f"{len(self)} ids from {self.numbers[0]} on"

    def pieces(self) -> tuple[Page, ...]:
        """The page in two halves."""
        if len(self) < 2:
            return ()
        middle = len(self.numbers) // 2
        parts = self.numbers[:middle], self.numbers[middle:]
        return IdList(parts[0], self.exact), IdList(parts[1], self.exact)


@dataclass(frozen=True, slots=True)
class HubPart:
    """A node's outgoing relationships with ids equal to ``part`` modulo ``parts``."""

    node: int
    part: int
    parts: int

    def __len__(self) -> int:
        return 1

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches the pattern where the variable has one of these ids."""
        return _MATCH.format(ids="[$node]", pattern=pattern, variable=variable)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of the Cypher text."""
        return {"node": self.node, "part": self.part, "parts": self.parts}

    @property
    def described(self) -> str:
        """Description for error messages."""
        return f"those from the node {self.node}"

    def pieces(self) -> tuple[Page, ...]:
        """The part in three, which keeps the number of parts odd; see `parts_of_hub`."""
        if self.parts > _MAX_PARTS:
            return ()
        return tuple(
            HubPart(self.node, self.part + third * self.parts, 3 * self.parts) for third in range(3)
        )


def parts_of_hub(node: int, degree: int, width: int) -> Iterator[HubPart]:
    """Pages for the relationships of a node that has too many for one."""
    # An odd number, as ids may share their low bits: some stores put the node's id there.
    parts = degree // width * 2 + 1
    for part in range(parts):
        yield HubPart(node, part, parts)


class Pace:
    """Adapts the page width to sizes of values, which may be a digit or a book.

    Starts small, then follows the measured time per page.
    """

    _SHORT_SECONDS, _LONG_SECONDS = 0.1, 0.4

    def __init__(self, width: int = 1_000, smallest: int = 100, largest: int = 32_768) -> None:
        self.width = width
        self._smallest = smallest
        self._largest = largest

    def took(self, width: int, seconds: float) -> None:
        """Reports how long a page of this width took."""
        if seconds > self._LONG_SECONDS:
            self.width = max(self._smallest, min(self.width, width // 2))
        elif seconds < self._SHORT_SECONDS and width >= self.width:
            self.width = min(self._largest, 2 * self.width)


def ranges(first: int, end: int, width: int) -> Iterator[IdRange]:
    """The ids from ``first`` to before ``end``, in ranges."""
    for start in range(first, end, width):
        yield IdRange(start, min(start + width, end) - 1)


def occupied_ranges(places: Iterable[int], first: int, width: int) -> Iterator[IdRange]:
    """The ranges number ``places`` of ``width`` ids each, from ``first`` on, in order."""
    for place in sorted(places):
        yield IdRange(max(first, place * width), (place + 1) * width - 1)


def cut(numbers: NDArray[np.int64], pace: Pace, *, exact: bool = False) -> Iterator[IdList]:
    """The ids (increasing) in pages; each has the pace's width at the time of its request."""
    start = 0
    while start < len(numbers):
        end = start + pace.width
        yield IdList(numbers[start:end], exact)
        start = end
