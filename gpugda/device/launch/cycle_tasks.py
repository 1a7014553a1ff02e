"""Base classes of kernels that count cycles: work items take tasks of a few nodes each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["CycleKernels", "CycleTasks", "GroupTasks", "share_of_nodes"]

_MAX_TASK_NODES = 64
_TASKS_PER_ITEM = 64


@dataclass(frozen=True, slots=True, eq=False)
class CycleTasks:
    """Tasks of a few nodes that work items, or groups, take from a counter, and their memory.

    Args:
        counters: ``uint32``, the first one counts the tasks taken.
        scratch: ``uint32``, a number of words per item or group, zero before the first launch.
        nodes: The number of nodes of the data graph.
        max_work: Maximum number of entries that an item or group reads per launch.
        totals: ``uint64``, one per item or group.
    """

    counters: DeviceArray
    scratch: DeviceArray
    nodes: int
    max_work: int
    totals: DeviceArray

    @classmethod
    def new(
        cls, workspace: Workspace, words: int, nodes: int, max_work: int, takers: int
    ) -> CycleTasks:
        """New tasks with ``words`` of scratch and one total per taker."""
        scratch = workspace.allocate(words, np.uint32, "marks of nodes")
        counters = workspace.allocate(1, np.uint32, "counters")
        totals = workspace.allocate(takers, np.uint64, "sums")
        for each in (scratch, counters, totals):
            workspace.fill(each, 0)
        return cls(counters, scratch, nodes, max_work, totals)

    def total(self, workspace: Workspace, *, whole: bool = False) -> int:
        """The sum of the totals, modulo 2**64 unless ``whole``; releases the arrays."""
        totals = workspace.download(self.totals)
        found = sum(totals.tolist()) if whole else int(totals.sum(dtype=np.uint64))
        self.release(workspace)
        return found

    def release(self, workspace: Workspace) -> None:
        """Releases the arrays."""
        workspace.release(self.scratch, self.counters, self.totals)


def share_of_nodes(nodes: int, takers: int, tasks_each: int, most: int) -> int:
    """Number of nodes of a task: small, as hubs have close node indexes in many graphs.

    Args:
        nodes: The number of nodes.
        takers: The number of items, or groups, that take tasks.
        tasks_each: The number of tasks that each of them should take if there are enough nodes.
        most: Maximum nodes of a task.
    """
    return max(1, min(most, nodes // (tasks_each * takers)))


class GroupTasks:
    """Base class of kernels whose work groups take tasks of a few nodes.

    Args:
        context: The device.
    """

    groups_per_unit: ClassVar[int]
    """Work groups per compute unit that keep the device busy."""
    tasks_per_group: ClassVar[int] = 256
    max_task_nodes: ClassVar[int] = 16

    def __init__(self, context: DeviceContext) -> None:
        self._context = context

    @property
    def max_groups(self) -> int:
        """The number of work groups that keeps the device busy."""
        return self._context.info.compute_units * self.groups_per_unit

    def task_nodes(self, nodes: int, groups: int) -> int:
        """Nodes of a task, if ``groups`` work groups share ``nodes`` nodes."""
        return share_of_nodes(nodes, groups, self.tasks_per_group, self.max_task_nodes)


class CycleKernels:
    """A single kernel whose work items take tasks, for a CPU.

    Args:
        context: The device.
        file: The kernel's file.
        name: The kernel's name.
        parameters: As in `get_kernel`.
    """

    def __init__(self, context: DeviceContext, file: str, name: str, parameters: str) -> None:
        self._context = context
        self._count = get_kernel(context, file, name, parameters)

    @property
    def item_count(self) -> int:
        """The number of work items that count."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task."""
        return share_of_nodes(nodes, self.item_count, _TASKS_PER_ITEM, _MAX_TASK_NODES)
