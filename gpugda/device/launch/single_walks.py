"""Counting cycles of four query nodes most of which belong to one; launcher of ``single_walks.cl``.

A kernel for a CPU.
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
    """Counts, node after node in the place of 0."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_single_walks", f"{GRAPH}bbIbbbbIIb")

    @property
    def item_count(self) -> int:
        """Work items that count."""
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
        """Adds what some nodes in the place of 0 are part of.

        Args:
            arrays: Of the query.
            candidates: The matrix.
            words: From `cycle_words`.
            along: ``uint32`` per node of the data graph: the only node that comes with it in the
                places of 1, 2 and 3, `NONE` where there is none.
            pairs: ``uint32``, how many relationships join two nodes, see ``single_walks.cl``.
            nodes: The first one and the one after the last.
            totals: ``uint64``, at least as long as there are items.
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
