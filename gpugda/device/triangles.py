"""Counting undirected triangles; launcher of ``triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.program import GRAPH, get_kernel
from gpugda.device.squares import CycleType, cycle_words, task_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.device.buffers import DeviceArray
    from gpugda.device.candidate_filter import FilterArrays
    from gpugda.device.context import DeviceContext
    from gpugda.device.squares import CycleTasks

__all__ = ["MOST_PARALLEL", "TriangleKernels", "triangle_words"]

MOST_PARALLEL = 255
"""Relationships between two nodes: a mark is a byte."""

_FILE = "triangles.cl"
_BOTH_WAYS = 0b1111


def triangle_words(types: Iterable[int], *, has_loops: bool) -> list[int]:
    """A triangle as kernels read it: at most ``MOST_TYPES`` types."""
    any_way = [CycleType(each, _BOTH_WAYS, _BOTH_WAYS) for each in types]
    return cycle_words([None] * 4, [None] * 4, any_way, [], has_loops=has_loops)


class TriangleKernels:
    """Counts triangles on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_triangles", f"{GRAPH}bIIQbbb")

    @property
    def item_count(self) -> int:
        """Work items that count."""
        return self._context.info.compute_units * 2

    def item_words(self, nodes: int, *, has_loops: bool) -> int:
        """Words of scratch that an item needs."""
        return -(-nodes // 4)

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task."""
        return task_nodes(nodes, self.item_count)

    def count(
        self,
        arrays: FilterArrays,
        candidates: DeviceArray,
        words: DeviceArray,
        tasks: CycleTasks,
    ) -> None:
        """Takes tasks; adds what they count to ``totals``."""
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            tasks.nodes,
            self.task_nodes(tasks.nodes),
            tasks.most_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )
