"""Sums of vectors that nothing else reads; launcher of ``vector_sums.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.launch.vector_batches import BatchArrays
    from gpugda.device.memory.buffers import Workspace

__all__ = ["MAX_SUMS", "DirectSums", "SummedList", "VectorSumKernels"]

MAX_SUMS = 3
"""Sums of a list, of ``vector_sums.cl``."""

_FILE = "vector_sums.cl"
_GROUPS_PER_UNIT = 4
_TEAMS = 8
"""Teams of a group, of ``ranked_lists.h``."""


class SummedList(NamedTuple):
    """A list of nodes two steps away, whose vector is only summed.

    Args:
        list: Its number.
        start: The position of the instruction that makes its source.
        push: That of the instruction that makes it.
        sums: Those of the instructions that sum it.
    """

    list: int
    start: int
    push: int
    sums: tuple[int, ...]


class DirectSums(NamedTuple):
    """Sums over the neighbours of the pinned node.

    Args:
        start: The position of the instruction that makes their vector.
        sums: Those of the instructions that sum it.
    """

    start: int
    sums: tuple[int, ...]


def _sum_words(sums: tuple[int, ...]) -> tuple[int, ...]:
    """The number of sums, and the positions of as many as kernels take."""
    return (len(sums), *sums, *[0] * (MAX_SUMS - len(sums)))


class VectorSumKernels:
    """Adds the sums of vectors to the registers of pinned nodes.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        kinds = f"{RANKED}IIIIIIIIbbQIbbbbb"
        self._sum = get_kernel(context, _FILE, "sum_two_steps", kinds)
        self._direct = get_kernel(context, _FILE, "sum_one_step", f"{RANKED}IIIIIIIIIIbbb")

    @property
    def max_groups(self) -> int:
        """The number of groups that the device runs at a time."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def direct(
        self,
        lists: RankedLists,
        summed: DirectSums,
        pins: range,
        share: tuple[int, int],
        arrays: BatchArrays,
    ) -> None:
        """Sums over the neighbours of the pinned nodes of a batch.

        Args:
            lists: Lists of the type of all relationships.
            summed: The sums.
            pins: The pinned nodes, of which those of the share count.
            share: A number, and of how many.
            arrays: Those of the batch.
        """
        what = lists.nodes, pins.start, pins.stop, *share, summed.start, *_sum_words(summed.sums)
        groups = -(-len(pins) // _TEAMS)
        more = arrays.program, arrays.weights, arrays.registers
        self._direct.launch_groups(groups, *lists.arguments, *what, *more)

    def run(
        self,
        workspace: Workspace,
        lists: RankedLists,
        summed: SummedList,
        first: int,
        chunks: range,
        arrays: BatchArrays,
    ) -> None:
        """Sums the vectors of pinned nodes of a batch.

        Args:
            workspace: Owner of the arrays.
            lists: Lists of the type of all relationships.
            summed: The list.
            first: The first pinned node of the batch.
            chunks: Some of those of the list in the batch.
            arrays: Those of the batch.
        """
        bounds, all_chunks = arrays.tables.bounds[summed.list], arrays.tables.all_chunks
        what = lists.nodes, first, summed.start, summed.push, *_sum_words(summed.sums)
        workspace.fill(arrays.taken, 0)
        of_chunks = bounds, all_chunks, chunks.start, len(chunks)
        more = arrays.program, arrays.weights, arrays.registers
        groups = min(arrays.marks.count // lists.nodes, len(chunks))
        own = arrays.marks, arrays.taken
        self._sum.launch_groups(groups, *lists.arguments, *what, *of_chunks, *more, *own)
