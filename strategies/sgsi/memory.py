"""Divides the memory limit between rows, places and segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.sgsi.segments import MIN_ENTRIES, max_bytes

from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from gpugda_strategies.sgsi.options import SgsiOptions

    from gpugda.device.memory.buffers import Workspace

__all__ = ["PLACE_BYTES", "MemoryPlan", "plan_memory"]

_MIN_ROWS = 32
_ROW_BYTES = 56
"""Bytes per row.

Two columns, flag, begin, two lengths, count, a place for a long one: 4 each; prefix sums: 8, and as
much again if a longer array is reused for them.
"""
PLACE_BYTES = 20
"""Node, relationship, new table row and new value: 4 each; level: 2; bitmap and its sums."""
_ARRAYS_BYTES = 1 << 14
"""Two dozen arrays of the minimum size, the histogram, and the words of a step."""
_TIGHT_BYTES = 1 << 21
_SLACK = 2
"""Factor by which an array may exceed its size, because longer ones are reused."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Sizes that keep to a memory limit.

    Args:
        rows: Rows of a subtable.
        places: Places allocated for its rows, if each place has all possible arrays.
        max_places: Maximum places in any case; launches and arrays are no longer.
        segment_bytes: Maximum bytes of a segment.
        segments_bytes: Bytes of all segments on the device.
        is_tight: True if there is no room for idle arrays.
    """

    rows: int
    places: int
    max_places: int
    segment_bytes: int
    segments_bytes: int
    is_tight: bool

    def places_of(self, place_bytes: int) -> int:
        """The number of places if each takes this many bytes."""
        return max(self.places, min(self.places * PLACE_BYTES // place_bytes, self.max_places))


def plan_memory(
    workspace: Workspace, kept: int, node_words: int, query_nodes: int, options: SgsiOptions
) -> MemoryPlan:
    """The sizes that fit in a run's memory.

    Args:
        workspace: The run's workspace, which has not allocated anything yet.
        kept: Bytes it counts that can be freed.
        node_words: Words of a bitmap of the data nodes.
        query_nodes: Number of query nodes.
        options: Sizes, if given.

    Raises:
        MemoryLimitError: Not even one segment fits; the error names the smallest limit that does.
    """
    entries = options.segment_entries or MIN_ENTRIES
    segment = max_bytes(entries, entries, options.lists.group_fill)
    rows, places = min(_MIN_ROWS, options.rows), max(entries, min(options.places, MIN_ENTRIES))
    words = options.lists.signature_words
    least = _ARRAYS_BYTES + 4 * node_words + rows * _ROW_BYTES + places * PLACE_BYTES + segment
    least += (4 * words + 1) * 32 + query_nodes * (4 * words + 32)
    budget = workspace.budget
    available = workspace.available + kept
    extra = available - least
    if extra < 0:
        raise MemoryLimitError(
            f"the memory limit of {budget.limit_bytes:,} bytes has no room for two columns and a "
            f"segment of this pattern: the smallest that works is {budget.limit_bytes - extra:,}; "
            "raise memory_limit, or leave the strategy to gpugda"
        )
    longest = workspace.context.info.max_allocation_bytes
    most = min(options.places, longest // 4, workspace.context.profile.max_pairs)
    return MemoryPlan(
        min(rows + extra // (8 * _SLACK * _ROW_BYTES), max(options.rows, 1), longest // 8),
        max(places, min(places + 3 * extra // (8 * _SLACK * PLACE_BYTES), most)),
        max(places, most),
        min(segment + extra // 4, longest),
        segment + extra // 2,
        extra < _TIGHT_BYTES,
    )
