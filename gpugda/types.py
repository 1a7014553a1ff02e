"""Types shared by all packages: indexes and their widths, text spans, frozen values."""

from __future__ import annotations

from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NewType

__all__ = [
    "MAX_WEIGHT",
    "NOWHERE",
    "Decimals",
    "Engine",
    "Freshness",
    "LabelId",
    "Load",
    "NodeIndex",
    "Planner",
    "Refinement",
    "RelationshipIndex",
    "Span",
    "Strategy",
    "TypeId",
    "first_line",
    "value",
]

if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as value

    import numpy as np

    NameId = np.uint16 | np.uint32
    """Dtype of label or type ids in arrays, chosen by `gpugda.data.identifiers.name_id_type`."""
else:

    def value(*, frozen: bool, slots: bool, eq: bool = True) -> Callable[[type], type]:
        """A dataclass that is frozen for the type checker only, and whose methods are shared.

        Run time checks triple the time to create an instance, which adds a fifteenth to the time
        of a small query that is not cached. `dataclasses` compiles each method of each class, which
        was a quarter of the processor time to the first answer of a process; here it compiles
        ``__init__`` alone.
        """

        def made(plain: type) -> type:
            own = frozenset(vars(plain))
            cls: Any = dataclass(slots=slots, repr=False, eq=False)(plain)
            if "__repr__" not in own:
                cls.__repr__ = _shown
            if eq and "__eq__" not in own:
                _compare_by_fields(cls, hashed=frozen and "__hash__" not in own)
            return cls

        return made


def _shown(self: Any) -> str:
    # One frame of the stack per level: syntax trees are deep.
    parts = []
    for part in fields(self):
        if part.repr:
            parts.append(f"{part.name}={getattr(self, part.name)!r}")  # noqa: PERF401
    return f"{type(self).__qualname__}({', '.join(parts)})"


def _compare_by_fields(cls: Any, *, hashed: bool) -> None:
    """Gives a class the comparison of a dataclass, by the tuple of its compared fields."""
    names = [part.name for part in fields(cls) if part.compare]
    read: Callable[[object], object]
    if len(names) > 1:
        read = attrgetter(*names)
    else:  # as a tuple, too, which finds an object equal to itself: NaN

        def read(self: object) -> tuple[object, ...]:
            return tuple(getattr(self, name) for name in names)

    def equal(self: object, other: object) -> Any:
        return read(self) == read(other) if type(other) is type(self) else NotImplemented

    def hashed_fields(self: object) -> int:
        return hash(read(self))

    cls.__eq__ = equal
    if hashed:
        cls.__hash__ = hashed_fields


Engine = Literal["auto", "gpu", "native", "reference"]
Freshness = Literal["strict", "manual"] | str
"""``strict``, ``manual``, or the largest age: ``max_age=5s``."""
Planner = Literal["cost", "density"]
Load = Literal["now", "background"]
Refinement = Literal["off", "once", "fixpoint"]
Strategy = Literal["extend", "gpsm", "gsi", "sgsi", "pbe", "stwig"] | str
"""One of these, or one that another package adds."""
Decimals = Literal["exact", "float"]

MAX_WEIGHT = 1 << 63
"""The largest multiplicity of a row; a row with it stands for this many embeddings or more."""

_MAX_SHOWN = 120
"""Characters of a query's line that an error shows on each side of the place."""

NodeIndex = NewType("NodeIndex", int)
"""Dense index 0…n-1, in the node order of the source. ``uint32`` in arrays."""

RelationshipIndex = NewType("RelationshipIndex", int)
"""Dense index 0…m-1: the position in the outgoing CSR. ``uint32`` in arrays."""

LabelId = NewType("LabelId", int)
TypeId = NewType("TypeId", int)


@value(frozen=True, slots=True)
class Span:
    """A part of a text: ``text[start:end]``, with offsets in characters."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from this one's start to the other's end."""
        return Span(self.start, other.end)

    def of(self, text: str) -> str:
        """The text of the span."""
        return text[self.start : self.end]

    def place(self, text: str) -> tuple[int, int]:
        """1-based line and column of the start."""
        before = text[: self.start]
        return before.count("\n") + 1, self.start - (before.rfind("\n") + 1) + 1

    def marked(self, text: str) -> str:
        """The line of the start, with carets below the span (within that line).

        A long line is shortened to the surroundings of the span.
        """
        line_start = text.rfind("\n", 0, self.start) + 1
        line_end = text.find("\n", self.start)
        line_end = line_end if line_end >= 0 else len(text)
        before, after = "", ""
        if self.start - line_start > _MAX_SHOWN:
            line_start, before = self.start - _MAX_SHOWN, "…"
        if line_end - self.start > _MAX_SHOWN:
            line_end, after = self.start + _MAX_SHOWN, "…"
        line = text[line_start:line_end]
        lead = "".join("\t" if c == "\t" else " " for c in line[: self.start - line_start])
        width = max(1, min(self.end, line_start + len(line)) - self.start)
        return f"  {before}{line}{after}\n  {' ' * len(before)}{lead}{'^' * width}"


NOWHERE: Final = Span(0, 0)
"""The place of what no text holds."""


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without the lines that show the place in a text."""
    return (str(error).splitlines() or [type(error).__name__])[0]
