"""Parts of the work of a kernel, for several devices."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["WHOLE", "Share"]


class Share(NamedTuple):
    """Of every ``of`` nodes, or tasks, the one with this number: a part of the work of a kernel.

    In ranked lists, neighbours in rank have about the same work.
    """

    number: int
    of: int

    @property
    def does_rest(self) -> bool:
        """True for the one share that does what is done once: that of the lightest nodes."""
        return self.number == self.of - 1

    def size(self, nodes: int) -> int:
        """The number of its nodes, or tasks of a few nodes each."""
        return max(0, -(-(nodes - self.number) // self.of))


WHOLE = Share(0, 1)
