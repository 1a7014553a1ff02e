"""Regions of device memory, each for one part of a data graph's rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpugda.device.graph.segments import Part, Ranges

__all__ = ["Region"]


@dataclass(slots=True, eq=False)
class Region:
    """A region of device memory for one part.

    Args:
        number: Number of the region.
        part: The part that is there or on its way.
        nodes: Its first node, and the one after the last.
        ranges: Its runs and entries.
        place: Position of its first entry.
        events: Events that complete its upload.
        run_count: The number of its runs with entries there, if parts bring their runs.
        is_shifted: True if its starts of runs are positions on the device.
    """

    number: int
    part: Part | None = None
    nodes: tuple[int, int] = (0, 0)
    ranges: Ranges | None = None
    place: int = 0
    events: list[Any] = field(default_factory=list)
    run_count: int = 0
    is_shifted: bool = False

    @property
    def end(self) -> int:
        """Position after its last entry."""
        return self.place + (0 if self.ranges is None else self.ranges.count)
