"""Progress in a notebook: one line below the cell, removed when the work is done."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["NotebookProgress"]

_DELAY_SECONDS = 0.5
"""Seconds of work before the line appears."""

_PAUSE = 0.2
"""Minimum seconds between two changes of the line."""


class NotebookProgress:
    """A `gpugda.ports.Progress` that shows a line about the thread that is in a `shown` block.

    Background work, and work outside such a block, is not shown.

    Args:
        display: Shows a text and returns a handle with ``update``; IPython's by default.
        clock: Returns the time in seconds.
    """

    def __init__(
        self,
        display: Callable[[str], Any] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display = display or _display
        self._clock = clock
        self._thread: int | None = None
        self._handle: Any = None
        self._name, self._done = "", 0
        self._total: int | None = None
        self._next_at = 0.0

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Shows the progress of this thread's work in the block."""
        self._thread, self._handle = threading.get_ident(), None
        self._next_at = self._clock() + _DELAY_SECONDS
        try:
            yield
        finally:
            self._thread = None
            if self._handle is not None:
                self._handle.update(_Line(""))

    def phase(self, name: str, total: int | None = None) -> None:
        """See `Progress`."""
        if self._is_watched():
            self._name, self._done, self._total = name, 0, total
            self._show()

    def advance(self, amount: int) -> None:
        """See `Progress`."""
        if self._is_watched():
            self._done += amount
            self._show()

    def _is_watched(self) -> bool:
        return threading.get_ident() == self._thread

    def _show(self) -> None:
        now = self._clock()
        if now < self._next_at:
            return
        self._next_at = now + _PAUSE
        text = self._name
        if self._total:
            text += f": {min(1.0, self._done / self._total):.0%} of {self._total:,}"
        elif self._done:
            text += f": {self._done:,}"
        if self._handle is None:
            self._handle = self._display(text)
        else:
            self._handle.update(_Line(text))


class _Line:
    """A text that notebooks show in small print."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        from html import escape

        return f"<small>{escape(self.text)}</small>"


def _display(text: str) -> Any:
    from IPython import display

    show: Callable[..., Any] = display.display
    return show(_Line(text), display_id=True)
