"""What kernels that count cycles have in common: work items that take tasks of a few nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["CycleKernels", "CycleTasks"]

_MOST_TASK_NODES = 64
_TASKS_PER_ITEM = 64


@dataclass(frozen=True, slots=True, eq=False)
class CycleTasks:
    """Nodes that work items take from a counter, and what they need for it.

    Args:
        counters: ``uint32``, the first one counts tasks that were taken.
        scratch: ``uint32[items * item_words(nodes, …)]``, zero before the first launch.
        nodes: Nodes of the data graph.
        most_work: Entries at which an item may look in one launch.
        totals: ``uint64``, at least as long as there are items.
    """

    counters: DeviceArray
    scratch: DeviceArray
    nodes: int
    most_work: int
    totals: DeviceArray


class CycleKernels:
    """One kernel, for a CPU.

    Args:
        context: The device.
        file: The kernel's.
        name: The kernel's.
        parameters: As of `get_kernel`.
    """

    def __init__(self, context: DeviceContext, file: str, name: str, parameters: str) -> None:
        self._context = context
        self._count = get_kernel(context, file, name, parameters)

    @property
    def item_count(self) -> int:
        """Work items that count."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task: few, for hubs lie close together in many graphs."""
        return max(1, min(_MOST_TASK_NODES, nodes // (_TASKS_PER_ITEM * self.item_count)))
