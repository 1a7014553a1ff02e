"""How much of everything fits: what the memory limit is divided into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import MemoryLimitError
from gpugda.match.sgsi.segments import LEAST_ENTRIES, most_bytes

if TYPE_CHECKING:
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.sgsi.options import SgsiOptions

__all__ = ["PLACE_BYTES", "MemoryPlan", "plan_memory"]

_LEAST_ROWS = 32
_ROW_BYTES = 56
"""Two columns, flag, begin, two lengths, count, a place for a long one: 4 each; prefix sums: 8, and
as much again where an array that is longer than need be is used for them."""
PLACE_BYTES = 20
"""Node, relationship, and of the new table row and value: 4 each; level: 2; bitmap and its sums."""
_ARRAYS_BYTES = 1 << 14
"""What two dozen arrays of the least size take, the histogram, and the words of a step."""
_TIGHT_BYTES = 1 << 21
_SLACK = 2
"""Times its size that an array may take: one that is there is used for a shorter one."""


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Sizes that keep to a memory limit.

    Args:
        rows: Of a subtable.
        places: Allocated in advance for its rows, where all is kept of them that may be.
        most_places: For any; launches and arrays are no longer.
        segment_bytes: Of a segment, at most.
        segments_bytes: Of all segments that are on the device.
        is_tight: Is there no room for arrays that lie idle?
    """

    rows: int
    places: int
    most_places: int
    segment_bytes: int
    segments_bytes: int
    is_tight: bool

    def places_of(self, place_bytes: int) -> int:
        """How many places there are where each takes so many bytes."""
        return max(self.places, min(self.places * PLACE_BYTES // place_bytes, self.most_places))


def plan_memory(
    workspace: Workspace, kept: int, node_words: int, query_nodes: int, options: SgsiOptions
) -> MemoryPlan:
    """What fits into what a run may take.

    Args:
        workspace: Of the run, which has not allocated anything yet.
        kept: Bytes it counts that can be freed.
        node_words: Words of a bitmap of the data nodes.
        query_nodes: Of the query.
        options: Sizes that are given.

    Raises:
        MemoryLimitError: Not even one segment fits; names the smallest limit that does.
    """
    entries = options.segment_entries or LEAST_ENTRIES
    segment = most_bytes(entries, entries, options.lists.group_fill)
    rows, places = min(_LEAST_ROWS, options.rows), max(entries, min(options.places, LEAST_ENTRIES))
    words = options.lists.signature_words
    least = _ARRAYS_BYTES + 4 * node_words + rows * _ROW_BYTES + places * PLACE_BYTES + segment
    least += (4 * words + 1) * 32 + query_nodes * (4 * words + 32)
    budget = workspace.budget
    available = workspace.available + kept
    extra = available - least
    if extra < 0:
        raise MemoryLimitError(
            f"the memory limit of {budget.limit_bytes:,} bytes has no room for two columns and a "
            f"segment of this query: the smallest that works is {budget.limit_bytes - extra:,}; "
            "raise memory_limit, or leave the strategy to gpugda"
        )
    longest = workspace.context.info.max_allocation_bytes
    most = min(options.places, longest // 4, workspace.context.profile.most_pairs)
    return MemoryPlan(
        min(rows + extra // (8 * _SLACK * _ROW_BYTES), max(options.rows, 1), longest // 8),
        max(places, min(places + 3 * extra // (8 * _SLACK * PLACE_BYTES), most)),
        max(places, most),
        min(segment + extra // 4, longest),
        segment + extra // 2,
        extra < _TIGHT_BYTES,
    )
