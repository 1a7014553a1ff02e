"""Lazily created lines of text for reports that are rarely read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["LazyLines"]


class LazyLines(Sequence[str]):
    """A sequence of lines that are created on first access."""

    __slots__ = ("_known", "_later")

    def __init__(self, lines: Iterable[str] = ()) -> None:
        self._known = list(lines)
        self._later: list[Callable[[], Iterable[str]]] = []

    def append(self, line: str) -> None:
        """Adds a line."""
        if self._later:
            self._later.append(lambda: (line,))
        else:
            self._known.append(line)

    def add_later(self, make: Callable[[], Iterable[str]]) -> None:
        """Adds the lines that a function returns; it is called at most once."""
        self._later.append(make)

    def mark(self) -> tuple[int, int]:
        """The current length, for `back_to`; lines must not be read between the two calls."""
        return len(self._known), len(self._later)

    def back_to(self, mark: tuple[int, int]) -> None:
        """Removes the lines added since a mark."""
        known, later = mark
        del self._known[known:], self._later[later:]

    def _all(self) -> list[str]:
        while self._later:
            self._known.extend(self._later[0]())
            del self._later[0]
        return self._known

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._all()[place]

    def __len__(self) -> int:
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (LazyLines, list, tuple)):
            return tuple(self) == tuple(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return LazyLines, (tuple(self),)
