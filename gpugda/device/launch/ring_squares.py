"""Counting directed cycles of four nodes; launcher of ``ring_squares.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.device.launch.cycle_tasks import share_of_nodes
from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["RingSquareKernels"]

_FILE = "ring_squares.cl"
_GROUPS_PER_UNIT = 8
_TASKS_PER_GROUP = 256
_MOST_TASK_NODES = 16


class RingSquareKernels:
    """Counts, and corrects, embeddings."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_ring_squares", f"{GRAPH}IIbbIQbbb")
        self._correct = get_kernel(context, _FILE, "correct_ring_squares", f"{GRAPH}IIbb")

    @property
    def most_groups(self) -> int:
        """Work groups that keep the device busy."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def task_nodes(self, nodes: int, groups: int) -> int:
        """Nodes of a task: those of the highest ranks take longest."""
        return share_of_nodes(nodes, groups, _TASKS_PER_GROUP, _MOST_TASK_NODES)

    def count(
        self,
        graph: Sequence[Any],
        type_id: int,
        order: tuple[DeviceArray, DeviceArray],
        groups: int,
        tasks: CycleTasks,
    ) -> None:
        """Takes tasks; adds what they count to ``totals``.

        Args:
            graph: Arguments for ``GRAPH_PARAMETERS``.
            type_id: The type of all relationships.
            order: Nodes by their ranks, and the rank of each.
            groups: Work groups; there are as many times the nodes of words in ``scratch``.
            tasks: What is done, and the scratch.
        """
        self._count.launch_groups(
            groups,
            *graph,
            type_id,
            tasks.nodes,
            *order,
            self.task_nodes(tasks.nodes, groups),
            tasks.most_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )

    def correct(
        self,
        graph: Sequence[Any],
        type_id: int,
        nodes: int,
        ranks: DeviceArray,
        groups: int,
        totals: DeviceArray,
    ) -> None:
        """Adds what these counts are wrong by, modulo 2**64; arguments as above."""
        self._correct.launch_groups(groups, *graph, type_id, nodes, ranks, totals)
