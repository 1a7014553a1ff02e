"""What building a data graph tells of its progress."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "SilentProgress"]


class Progress(Protocol):
    """Told how far long work has come; the progress of a source port fits."""

    def phase(self, name: str, total: int | None = None) -> None:
        """A new phase begins; ``total`` units of work if known."""

    def advance(self, amount: int) -> None:
        """That many units more are done."""


class SilentProgress:
    """A progress that nobody watches."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Nothing to show."""

    def advance(self, amount: int) -> None:
        """Nothing to show."""
