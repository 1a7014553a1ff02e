"""Counts cycles of four query nodes with three functional links; launcher of ``single_walks.cl``.

Functional: each node has at most one neighbour along the link. The kernel is for a CPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["SingleWalkKernels"]

_FILE = "single_walks.cl"


class SingleWalkKernels:
    """Counts the cycles of each node at position 0."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_single_walks", f"{GRAPH}bbIbbbbIIb")

    @property
    def item_count(self) -> int:
        """The number of work items that count."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def count(
        self,
        arrays: FilterArrays,
        candidates: DeviceArray,
        words: DeviceArray,
        along: Sequence[Any],
        pairs: Any,
        nodes: tuple[int, int],
        totals: DeviceArray,
    ) -> None:
        """Adds the number of cycles that contain these nodes at position 0.

        Args:
            arrays: Arrays of the query.
            candidates: The candidate matrix.
            words: From `cycle_words`.
            along: ``uint32`` per node of the data graph: its only companion at positions 1, 2 and
                3, `NONE` if there is none.
            pairs: ``uint32``, number of relationships between pairs of nodes, see
                ``single_walks.cl``.
            nodes: The first one and the one after the last.
            totals: ``uint64``, one per item.
        """
        first, last = nodes
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            candidates,
            arrays.words,
            *along,
            pairs,
            first,
            last - first,
            totals,
        )
