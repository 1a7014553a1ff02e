"""Progress of building a data graph."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Progress", "SilentProgress"]


class Progress(Protocol):
    """Receives the progress of long work; a source port's progress has this interface."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Starts a new phase of ``total`` units of work, if known."""

    def advance(self, amount: int) -> None:
        """Reports that ``amount`` more units are done."""


class SilentProgress:
    """Ignores all progress."""

    def phase(self, name: str, total: int | None = None) -> None:
        """Does nothing."""

    def advance(self, amount: int) -> None:
        """Does nothing."""
