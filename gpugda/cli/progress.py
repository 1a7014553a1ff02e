"""Shows the progress of loading as a bar on standard error."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from gpugda.ports import SilentProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from gpugda.ports import Progress

__all__ = ["BarProgress", "RepeatedProgress", "shown_progress"]


class BarProgress:
    """Draws one bar per phase.

    Args:
        bars: Rich's display, started and stopped by its owner.
    """

    def __init__(self, bars: RichProgress) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def phase(self, name: str, total: int | None = None) -> None:
        """Ends the current bar and begins a new one."""
        self._end()
        self._task = self._bars.add_task(name, total=total)

    def advance(self, amount: int) -> None:
        """Moves the bar."""
        if self._task is not None:
            self._bars.advance(self._task, amount)

    def _end(self) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)


@contextmanager
def shown_progress() -> Iterator[Progress]:
    """A progress that is drawn if standard error is a terminal, and erased at the end."""
    if not sys.stderr.isatty():
        yield SilentProgress()
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), *Progress.get_default_columns()[:3], TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield BarProgress(bars)


class RepeatedProgress:
    """One progress for several tasks: drawn during each, from its first phase on."""

    def __init__(self) -> None:
        self._work: ExitStack | None = None
        self._bar: Progress | None = None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Context of one task."""
        with ExitStack() as self._work:
            try:
                yield
            finally:
                self._work = self._bar = None

    def phase(self, name: str, total: int | None = None) -> None:
        """Begins a bar; does nothing outside `shown`."""
        if self._bar is None and self._work is not None:
            self._bar = self._work.enter_context(shown_progress())
        if self._bar is not None:
            self._bar.phase(name, total)

    def advance(self, amount: int) -> None:
        """Moves the bar."""
        if self._bar is not None:
            self._bar.advance(amount)
