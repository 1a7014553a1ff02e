"""Counts triangles, undirected or acyclic directed ones; launcher of ``triangles.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.cycle_tasks import CycleKernels
from gpugda.device.launch.squares import FLAGS_AT, UPWARDS, CycleType, cycle_words
from gpugda.device.program import GRAPH

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["MAX_PARALLEL", "TriangleKernels", "triangle_words"]

MAX_PARALLEL = 255
"""Maximum number of relationships between two nodes: a mark is a byte."""

_FILE = "triangles.cl"
_ALL_LINKS = 0b1111


def triangle_words(types: Iterable[int], *, has_loops: bool, upwards: bool = False) -> list[int]:
    """Encodes a triangle for the kernels; at most ``MAX_TYPES`` types.

    ``upwards``: True for ``(a)-->(b)-->(c)<--(a)`` in a graph without directed cycles.
    """
    found = [CycleType(each, _ALL_LINKS, 0 if upwards else _ALL_LINKS) for each in types]
    words = cycle_words([None] * 4, [None] * 4, found, [], has_loops=has_loops)
    words[FLAGS_AT] |= UPWARDS if upwards else 0
    return words


class TriangleKernels(CycleKernels):
    """Counts triangles on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context, _FILE, "count_triangles", f"{GRAPH}bIIQbbb")

    def item_words(self, nodes: int, *, has_loops: bool) -> int:
        """Scratch words of an item."""
        return -(-nodes // 4)

    def count(
        self,
        arrays: FilterArrays,
        candidates: DeviceArray,
        words: DeviceArray,
        tasks: CycleTasks,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``."""
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            tasks.nodes,
            self.task_nodes(tasks.nodes),
            tasks.max_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )
