"""What kernels that count cycles have in common: work items that take tasks of a few nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["CycleKernels", "CycleTasks", "GroupTasks", "share_of_nodes"]

_MOST_TASK_NODES = 64
_TASKS_PER_ITEM = 64


@dataclass(frozen=True, slots=True, eq=False)
class CycleTasks:
    """Nodes that work items, or groups, take from a counter, and what they need for it.

    Args:
        counters: ``uint32``, the first one counts tasks that were taken.
        scratch: ``uint32``, some words of each that takes tasks, zero before the first launch.
        nodes: Nodes of the data graph.
        most_work: Entries at which one may look in one launch.
        totals: ``uint64``, at least as long as there are such items or groups.
    """

    counters: DeviceArray
    scratch: DeviceArray
    nodes: int
    most_work: int
    totals: DeviceArray

    @classmethod
    def new(
        cls, workspace: Workspace, words: int, nodes: int, most_work: int, takers: int
    ) -> CycleTasks:
        """Of which none is taken; ``words`` of scratch, and a total of each that takes some."""
        scratch = workspace.allocate(words, np.uint32, "marks of nodes")
        counters = workspace.allocate(1, np.uint32, "counters")
        totals = workspace.allocate(takers, np.uint64, "sums")
        for each in (scratch, counters, totals):
            workspace.fill(each, 0)
        return cls(counters, scratch, nodes, most_work, totals)

    def total(self, workspace: Workspace) -> int:
        """The sum of the totals, modulo 2**64; the arrays are given up."""
        found = int(workspace.download(self.totals).sum(dtype=np.uint64))
        workspace.release(self.scratch, self.counters, self.totals)
        return found


def share_of_nodes(nodes: int, takers: int, tasks_each: int, most: int) -> int:
    """Nodes of a task: few, for hubs lie close together in many graphs.

    Args:
        nodes: That there are.
        takers: Items, or groups, that take tasks.
        tasks_each: That each of them should take, where there are so many nodes.
        most: Nodes of a task at most.
    """
    return max(1, min(most, nodes // (tasks_each * takers)))


class GroupTasks:
    """What kernels have in common whose work groups take tasks of a few nodes.

    Args:
        context: The device.
    """

    groups_per_unit: ClassVar[int]
    """Work groups per compute unit that keep the device busy."""
    tasks_per_group: ClassVar[int] = 256
    most_task_nodes: ClassVar[int] = 16

    def __init__(self, context: DeviceContext) -> None:
        self._context = context

    @property
    def most_groups(self) -> int:
        """Work groups that keep the device busy."""
        return self._context.info.compute_units * self.groups_per_unit

    def task_nodes(self, nodes: int, groups: int) -> int:
        """Nodes of a task, of so many that so many groups take."""
        return share_of_nodes(nodes, groups, self.tasks_per_group, self.most_task_nodes)


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
        """Nodes of a task."""
        return share_of_nodes(nodes, self.item_count, _TASKS_PER_ITEM, _MOST_TASK_NODES)
