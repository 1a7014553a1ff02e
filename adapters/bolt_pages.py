"""Pages of ids: the pieces in which a database is asked for its nodes and relationships.

The server finds the ids of a page by seeks, so a page costs what it is wide and never a scan, and
its width bounds what one transaction holds, also where a single node has a million relationships.
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
"""Ids are asked for as a range where at least one in so many of it is wanted."""

_RANGE = "range($first, $last)"
# Were the list named in the condition itself, the planner would know how long it is, and might take
# a scan for cheaper; to unwind it takes the server a third longer.
_MATCH = "WITH {ids} AS ids MATCH {pattern} WHERE id({variable}) IN ids"
_MOST_PARTS = 1 << 20


class Page(Protocol):
    """What one query asks for."""

    def __len__(self) -> int: ...

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches what of the pattern has one of these ids at the variable."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the Cypher names."""

    @property
    def described(self) -> str:
        """For errors."""

    def pieces(self) -> tuple[Page, ...]:
        """The page in smaller ones, none if it cannot be cut."""


@dataclass(frozen=True, slots=True)
class IdRange:
    """All ids from ``first`` to ``last``, of which some may be of nothing."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches what of the pattern has one of these ids at the variable."""
        return _MATCH.format(ids=_RANGE, pattern=pattern, variable=variable)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the Cypher names."""
        return {"first": self.first, "last": self.last}

    @property
    def described(self) -> str:
        """For errors."""
        return f"ids {self.first} to {self.last}"

    def pieces(self) -> tuple[Page, ...]:
        """The page in two."""
        if len(self) < 2:
            return ()
        middle = (self.first + self.last) // 2
        return IdRange(self.first, middle), IdRange(middle + 1, self.last)


@dataclass(frozen=True, slots=True, eq=False)
class IdList:
    """Some ids, rising; where they lie close together, what lies between them comes along.

    Args:
        numbers: The ids.
        exact: Nothing else may come along.
    """

    numbers: NDArray[np.int64]
    exact: bool = False

    def __len__(self) -> int:
        return len(self.numbers)

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches what of the pattern has one of these ids at the variable."""
        ids = _RANGE if self._dense else "$ids"
        return _MATCH.format(ids=ids, pattern=pattern, variable=variable)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the Cypher names."""
        if self._dense:
            return {"first": int(self.numbers[0]), "last": int(self.numbers[-1])}
        return {"ids": self.numbers.tolist()}

    @property
    def _dense(self) -> bool:
        count = 0 if self.exact else len(self.numbers)
        return count > 0 and int(self.numbers[-1]) - int(self.numbers[0]) < _DENSE * count

    @property
    def described(self) -> str:
        """For errors."""
        return f"{len(self)} ids from {self.numbers[0]} on"

    def pieces(self) -> tuple[Page, ...]:
        """The page in two."""
        if len(self) < 2:
            return ()
        middle = len(self.numbers) // 2
        parts = self.numbers[:middle], self.numbers[middle:]
        return IdList(parts[0], self.exact), IdList(parts[1], self.exact)


@dataclass(frozen=True, slots=True)
class HubPart:
    """The outgoing relationships of a node whose ids leave this rest when divided by ``parts``."""

    node: int
    part: int
    parts: int

    def __len__(self) -> int:
        return 1

    def match(self, pattern: str, variable: str) -> str:
        """Cypher that matches what of the pattern has one of these ids at the variable."""
        return _MATCH.format(ids="[$node]", pattern=pattern, variable=variable)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the Cypher names."""
        return {"node": self.node, "part": self.part, "parts": self.parts}

    @property
    def described(self) -> str:
        """For errors."""
        return f"those from the node {self.node}"

    def pieces(self) -> tuple[Page, ...]:
        """The part in three, so that the number of parts stays odd; see `parts_of_hub`."""
        if self.parts > _MOST_PARTS:
            return ()
        return tuple(
            HubPart(self.node, self.part + third * self.parts, 3 * self.parts) for third in range(3)
        )


def parts_of_hub(node: int, degree: int, width: int) -> Iterator[HubPart]:
    """The relationships of a node that has too many for a page."""
    # Odd, as ids may all have the same low bits: some stores put the node's id there.
    parts = degree // width * 2 + 1
    for part in range(parts):
        yield HubPart(node, part, parts)


class Pace:
    """How many ids a page takes where a value may be a digit or a book.

    Begins small, and then goes by how long pages take.
    """

    _SHORT_SECONDS, _LONG_SECONDS = 0.1, 0.4

    def __init__(self, width: int = 1_000, smallest: int = 100, largest: int = 32_768) -> None:
        self.width = width
        self._smallest = smallest
        self._largest = largest

    def took(self, width: int, seconds: float) -> None:
        """Told how long a page of this width took."""
        if seconds > self._LONG_SECONDS:
            self.width = max(self._smallest, min(self.width, width // 2))
        elif seconds < self._SHORT_SECONDS and width >= self.width:
            self.width = min(self._largest, 2 * self.width)


def ranges(first: int, end: int, width: int) -> Iterator[IdRange]:
    """The ids from ``first`` on, before ``end``."""
    for start in range(first, end, width):
        yield IdRange(start, min(start + width, end) - 1)


def occupied_ranges(places: Iterable[int], first: int, width: int) -> Iterator[IdRange]:
    """The ranges of ``width`` ids with these places, from ``first`` on, in order."""
    for place in sorted(places):
        yield IdRange(max(first, place * width), (place + 1) * width - 1)


def cut(numbers: NDArray[np.int64], pace: Pace, *, exact: bool = False) -> Iterator[IdList]:
    """The ids, which rise, in pages as wide as the pace says when each is asked for."""
    start = 0
    while start < len(numbers):
        end = start + pace.width
        yield IdList(numbers[start:end], exact)
        start = end
