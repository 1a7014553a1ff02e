"""Counts squares per node at one of their positions; launcher of ``square_sums.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpugda.device.launch.cycle_tasks import GroupTasks
from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["SquareArrays", "SquareSumKernels"]

_FILE = "square_sums.cl"
_SQUARE = f"{GRAPH}bbIbI"


@dataclass(frozen=True, slots=True, eq=False)
class SquareArrays:
    """A square, and the output for its sums.

    Args:
        filter: Arrays of the query.
        matrix: The candidate matrix.
        words: From `cycle_words`, without the option to halve.
        nodes: ``uint32``, data nodes at position 0.
        first: Index of the first one to process.
        listed: The number of them.
        sums: ``uint32``, three words for each of them.
        first_word: Position of the first sum.
    """

    filter: FilterArrays
    matrix: DeviceArray
    words: DeviceArray
    nodes: DeviceArray
    first: int
    listed: int
    sums: DeviceArray
    first_word: int

    @property
    def square(self) -> tuple[Any, ...]:
        """The first arguments of every kernel."""
        arrays = self.filter
        masks = arrays.relationship_masks, arrays.relationship_words
        return *arrays.graph, self.words, *masks, self.matrix, arrays.words, arrays.node_count


class SquareSumKernels(GroupTasks):
    """Adds up squares by the node at position 0."""

    groups_per_unit, tasks_per_group, max_task_nodes = 4, 64, 64

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context)
        self._sum = get_kernel(context, _FILE, "sum_squares", f"{_SQUARE}IbIIIQbbbQ")
        self._measure = get_kernel(context, _FILE, "measure_odd_ends", f"{_SQUARE}Ib")
        self._correct = get_kernel(context, _FILE, "correct_square_sums", f"{_SQUARE}IbIIbbQ")

    @property
    def max_groups(self) -> int:
        """The number of work groups that keeps the device busy."""
        profile = self._context.profile
        each = profile.task_items_per_unit if profile.group_size == 1 else self.groups_per_unit
        return self._context.info.compute_units * each

    def group_words(self, nodes: int) -> int:
        """Scratch words of a work group."""
        return 2 * nodes + 1 if self._context.profile.group_size == 1 else nodes

    def sum(
        self,
        arrays: SquareArrays,
        groups: int,
        max_work: int,
        scratch: DeviceArray,
        counters: DeviceArray,
    ) -> None:
        """Takes tasks, and writes the sums of their nodes; `correct` must follow.

        Args:
            arrays: The square and its output.
            groups: The number of work groups.
            max_work: Maximum number of entries that a group reads in one launch.
            scratch: ``uint32[groups * group_words(…)]``, zero before the first launch.
            counters: ``uint32``, the first one counts the tasks taken.
        """
        self._sum.launch_groups(
            groups,
            *arrays.square,
            arrays.nodes,
            arrays.first,
            arrays.listed,
            self.task_nodes(arrays.listed, groups),
            max_work,
            scratch,
            counters,
            arrays.sums,
            arrays.first_word,
        )

    def correct(self, arrays: SquareArrays, odd_ends: DeviceArray) -> None:
        """Corrects the sums to those of squares; overwrites ``odd_ends``, ``int64[2 * nodes]``."""
        nodes = arrays.filter.node_count
        self._measure(nodes, *arrays.square, odd_ends)
        listed = arrays.nodes, arrays.first, arrays.listed
        sums = arrays.sums, arrays.first_word
        self._correct(arrays.listed, *arrays.square, *listed, odd_ends, *sums)
