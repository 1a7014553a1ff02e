"""Index types, their widths, places in a query text, frozen values: what every room shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NewType

__all__ = [
    "MOST_WEIGHT",
    "LabelId",
    "NodeIndex",
    "RelationshipIndex",
    "Span",
    "TypeId",
    "first_line",
    "value",
]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as value

    import numpy as np

    NameId = np.uint16 | np.uint32
    """Of a label or type in an array: `gpugda.data.identifiers.name_id_type` says which."""
else:

    def value(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """A frozen dataclass that leaves it to the type checker to find who would change it.

        One that watches its attributes itself takes three times as long to make, which adds a
        fifteenth to a small query that was not asked before.
        """
        return dataclass(slots=slots, unsafe_hash=frozen)


MOST_WEIGHT = 1 << 63
"""The largest number of embeddings that a row may stand for: it stands for all above, too."""

_MOST_SHOWN = 120
"""Characters of a query's line that an error shows on each side of a place."""

NodeIndex = NewType("NodeIndex", int)
"""Dense 0…n-1, in the order in which the source gave the nodes. ``uint32`` in arrays."""

RelationshipIndex = NewType("RelationshipIndex", int)
"""Dense 0…m-1: the position in the outgoing CSR. ``uint32`` in arrays."""

LabelId = NewType("LabelId", int)
TypeId = NewType("TypeId", int)


@value(frozen=True, slots=True)
class Span:
    """A piece of a text: ``text[start:end]``, offsets in characters."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from this one's start to the other's end."""
        return Span(self.start, other.end)

    def of(self, text: str) -> str:
        """The piece itself."""
        return text[self.start : self.end]

    def place(self, text: str) -> tuple[int, int]:
        """1-based line and column of the start."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1

    def marked(self, text: str) -> str:
        """The line of the start, and below it carets under the piece (within that line).

        Of a long line what is around the piece.
        """
        line_start = text.rfind("\n", 0, self.start) + 1
        line_end = text.find("\n", self.start)
        line_end = line_end if line_end >= 0 else len(text)
        before, after = "", ""
        if self.start - line_start > _MOST_SHOWN:
            line_start, before = self.start - _MOST_SHOWN, "…"
        if line_end - self.start > _MOST_SHOWN:
            line_end, after = self.start + _MOST_SHOWN, "…"
        line = text[line_start:line_end]
        lead = "".join("\t" if c == "\t" else " " for c in line[: self.start - line_start])
        width = max(1, min(self.end, line_start + len(line)) - self.start)
        return f"  {before}{line}{after}\n  {' ' * len(before)}{lead}{'^' * width}"


def first_line(error: BaseException) -> str:
    """What an error says, without the lines that show a place in a text."""
    return (str(error).splitlines() or [type(error).__name__])[0]
