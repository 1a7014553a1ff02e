"""Runs programs of sparse vectors in ranked lists; launcher of ``vector_steps.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.query_words import NONE
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycles import CycleTasks
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["ProgramShape", "VectorKernels"]

_FILE = "vector_steps.cl"
_GROUPS_PER_UNIT = 4
_WEIGHING_GROUPS_PER_UNIT = 16


class ProgramShape(NamedTuple):
    """The sizes of a program.

    Args:
        vectors: The number of vectors.
        lists: The number of lists of their nodes.
        terms: The number of products that are counted.
        below_only: True if a node without lower neighbours counts nothing.
    """

    vectors: int
    lists: int
    terms: int
    below_only: bool


class VectorKernels:
    """Runs programs, and makes the weights of nodes that they read.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_vectors", f"{RANKED}IIIIQbbbIbbb")
        self._pull = get_kernel(context, _FILE, "pull_weights", f"{RANKED}IIIIIb")
        self._loops = get_kernel(context, _FILE, "loop_weights", "bIIIb")

    @property
    def max_groups(self) -> int:
        """The number of work groups that keeps the device busy."""
        profile, units = self._context.profile, self._context.info.compute_units
        return units * (profile.task_items_per_unit if self._context.is_cpu else _GROUPS_PER_UNIT)

    def count(
        self,
        lists: RankedLists,
        program: DeviceArray,
        shape: ProgramShape,
        weights: DeviceArray,
        tasks: CycleTasks,
        highs: DeviceArray,
    ) -> None:
        """Takes the pinned nodes of a share; adds what the program counts to the totals.

        Args:
            lists: Lists of the type of all relationships.
            program: The instructions.
            shape: The sizes of the program.
            weights: ``uint64[weights][nodes]``.
            tasks: For each group its vectors and lists as scratch, zero before and after, and a
                total per term.
            highs: ``uint32``, one per total: multiples of 2**64 that belong to it.
        """
        how = (lists.nodes, shape.vectors, shape.terms, int(shape.below_only), tasks.max_work)
        scratch = (tasks.scratch, shape.vectors + shape.lists)
        arrays = (program, weights, *scratch, tasks.counters, tasks.totals, highs)
        groups = tasks.totals.count // shape.terms
        self._count.launch_groups(groups, *lists.arguments, *how, *arrays)

    def pull_weights(
        self,
        lists: RankedLists,
        sides: int,
        more: int,
        places: tuple[int | None, int],
        weights: DeviceArray,
    ) -> None:
        """Multiplies the weights of each node with a sum over its neighbours.

        Args:
            lists: Lists of the type of all relationships.
            sides: The lists that are read: 1 outgoing, 2 incoming, 3 both.
            more: Further powers of the numbers of relationships, see the kernel.
            places: Number of the weights that are summed, None for 1; number of the product.
            weights: ``uint64[weights][nodes]``.
        """
        source, target = places
        groups = self._context.info.compute_units * _WEIGHING_GROUPS_PER_UNIT
        what = (lists.nodes, sides, more, NONE if source is None else source, target)
        self._pull.launch_groups(groups, *lists.arguments, *what, weights)

    def loop_weights(
        self, loops: DeviceArray, nodes: int, power: int, target: int, weights: DeviceArray
    ) -> None:
        """Multiplies the weights of each node with a power of the number of its self-loops."""
        self._loops(nodes, loops, nodes, power, target, weights)
