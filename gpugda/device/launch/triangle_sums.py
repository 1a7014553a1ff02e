"""Counts undirected triangles per node; launcher of ``triangle_sums.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpugda.device.launch.cycle_tasks import share_of_nodes
from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["HigherNeighbours", "Members", "TriangleSumKernels"]

_FILE = "triangle_sums.cl"
_MEMBERS = f"{GRAPH}bbb"
_TASKS_PER_ITEM = 64
_MAX_TASK_MEMBERS = 64


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """The nodes whose triangles are counted.

    Args:
        filter: Arrays of the query.
        words: From `triangle_words`.
        bits: ``uint32``, a bit per node of the data graph.
        ranks: ``uint64``, the number of members before those of each word.
    """

    filter: FilterArrays
    words: DeviceArray
    bits: DeviceArray
    ranks: DeviceArray

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments of kernels that read the data graph."""
        return *self.filter.graph, self.words, self.bits, self.ranks


@dataclass(frozen=True, slots=True, eq=False)
class HigherNeighbours:
    """For each member, its neighbours of higher degree.

    Args:
        members: The number of members.
        starts: ``uint64``, start of each list.
        counts: ``uint32``, length of each list.
        entries: ``uint32``, numbers of members.
    """

    members: int
    starts: DeviceArray
    counts: DeviceArray
    entries: DeviceArray

    @property
    def arrays(self) -> tuple[DeviceArray, ...]:
        """Arguments of the kernels."""
        return self.starts, self.counts, self.entries


class TriangleSumKernels:
    """Adds up triangles by their nodes, on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._unite = get_kernel(context, _FILE, "unite_candidates", "bIIIIb")
        self._measure = get_kernel(context, _FILE, "measure_members", f"{_MEMBERS}Ibb")
        self._list = get_kernel(context, _FILE, "list_higher", f"{_MEMBERS}Ibbbbb")
        self._sum = get_kernel(context, _FILE, "sum_triangles", "IIQbbbbQb")
        self._write = get_kernel(context, _FILE, "write_triangle_sums", "bbbIIbQIbQ")

    @property
    def max_items(self) -> int:
        """Number of work items that keeps the device busy; few, as their scratch is long."""
        return int(self._context.info.compute_units)

    def item_words(self, members: int) -> int:
        """Scratch words of an item: an even number, as sums have two."""
        return 3 * members + members % 2

    def task_members(self, members: int, items: int) -> int:
        """Members of a task."""
        return share_of_nodes(members, items, _TASKS_PER_ITEM, _MAX_TASK_MEMBERS)

    def unite(
        self, matrix: DeviceArray, words: int, rows: tuple[int, int, int], bits: DeviceArray
    ) -> None:
        """Writes the union of three rows of the candidate matrix: ``uint32[words]``."""
        self._unite(words, matrix, words, *rows, bits)

    def measure(self, members: Members, nodes: DeviceArray, lengths: DeviceArray) -> None:
        """Writes the node of each member, and its degree; both ``uint32``."""
        words = members.filter.words
        self._measure(words, *members.arguments, words, nodes, lengths)

    def list_higher(
        self, members: Members, nodes: DeviceArray, lengths: DeviceArray, higher: HigherNeighbours
    ) -> None:
        """Writes the lists and their lengths.

        Args:
            members: The nodes.
            nodes: Output of `measure`.
            lengths: Output of `measure`.
            higher: The lists; its starts are the prefix sums of the lengths.
        """
        count = higher.members
        self._list(count, *members.arguments, count, nodes, lengths, *higher.arrays)

    def sum(
        self,
        higher: HigherNeighbours,
        items: int,
        max_work: int,
        scratch: DeviceArray,
        counters: DeviceArray,
    ) -> None:
        """Takes tasks, and adds up the triangles of their members.

        Args:
            higher: The lists.
            items: The number of work items.
            max_work: Maximum number of entries that an item reads in one launch.
            scratch: ``uint32[items * item_words(…)]``, zero before the first launch.
            counters: ``uint32``, the first one counts the tasks taken.
        """
        count = higher.members
        self._sum.launch_groups(
            items,
            count,
            self.task_members(count, items),
            max_work,
            *higher.arrays,
            scratch,
            self.item_words(count),
            counters,
        )

    def write(
        self,
        members: Members,
        higher: HigherNeighbours,
        listed: tuple[DeviceArray, int, int],
        scratch: tuple[DeviceArray, int],
        place: tuple[DeviceArray, int],
    ) -> None:
        """Writes twice the number of triangles of the listed nodes.

        Args:
            members: The nodes.
            higher: Their lists.
            listed: ``uint32`` nodes, the position of the first one, and the number of them.
            scratch: Scratch as left by `sum`, and the number of items.
            place: ``uint32``, three words per listed node; position of the first.
        """
        (kept, items), words = scratch, self.item_words(higher.members)
        bits = members.bits, members.ranks
        self._write(listed[2], *bits, *listed, kept, words, items, *place)
