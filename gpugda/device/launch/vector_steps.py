"""Runs programs of sparse vectors on a CPU; launcher of ``vector_steps.cl``."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycles import CycleTasks
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray

__all__ = [
    "MAX_FACTORS",
    "MAX_LISTS",
    "MAX_REGISTERS",
    "MAX_TERMS",
    "TERM_WORDS",
    "ListBase",
    "ListUse",
    "ProgramShape",
    "VectorKernels",
]

MAX_LISTS, MAX_REGISTERS, MAX_TERMS, MAX_FACTORS = 16, 32, 32, 4
"""Sizes of a program, of ``vector_program.h`` and ``vector_steps.cl``."""
TERM_WORDS = 2 + MAX_FACTORS
"""Words of a term."""

_FILE = "vector_steps.cl"


class ProgramShape(NamedTuple):
    """The sizes of a program.

    Args:
        vectors: The number of vectors.
        lists: The number of lists of their nodes.
        terms: The number of products that are counted.
        below_only: True if a node without lower neighbours counts nothing.
        pulled_lists: A bit per list whose vectors are looked up by node.
    """

    vectors: int
    lists: int
    terms: int
    below_only: bool
    pulled_lists: int = 0


class ListUse(Enum):
    """What a GPU needs of a list: a table, only sums of its vector, or nothing but its size."""

    TABLE = auto()
    SUMS = auto()
    SIZE = auto()


class ListBase(NamedTuple):
    """The nodes of a list of vectors: neighbours of the pinned node, or of the nodes of a list.

    Args:
        source: That list; None for the pinned node.
        sides: The lists that are read: 1 outgoing, 2 incoming, 3 both.
        below: True if only data nodes below the pinned one count.
        vectors: The number of vectors of this list.
        use: What a GPU needs of it.
    """

    source: int | None
    sides: int
    below: bool
    vectors: int = 1
    use: ListUse = ListUse.TABLE


class VectorKernels:
    """Runs programs for one pinned node after another.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(context, _FILE, "count_vectors", f"{RANKED}IIIIQbbbIbbb")

    @property
    def item_count(self) -> int:
        """The number of work items that count."""
        return self._context.info.compute_units * self._context.profile.task_items_per_unit

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
            tasks: For each item its vectors and lists as scratch, zero before and after, and a
                total per term.
            highs: ``uint32``, one per total: multiples of 2**64 that belong to it.
        """
        how = (lists.nodes, shape.vectors, shape.terms, int(shape.below_only), tasks.max_work)
        scratch = (tasks.scratch, shape.vectors + shape.lists)
        arrays = (program, weights, *scratch, tasks.counters, tasks.totals, highs)
        groups = tasks.totals.count // shape.terms
        self._count.launch_groups(groups, *lists.arguments, *how, *arrays)
