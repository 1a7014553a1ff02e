"""Lists of one type between nodes numbered by rank; launcher of ``ranked_lists.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpugda.data.sorting import bits_for
from gpugda.device.launch.primitives import PrefixSum, RadixSort
from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, Kernel, get_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["RANKED", "RankedKernels", "RankedLists", "RankedRows"]

RANKED: Final = "b" * 6
"""Parameters of a kernel that reads ranked lists, see ``ranked_lists.h``."""

_FILE: Final = "ranked_lists.cl"
_LAST: Final = (1 << 64) - 1
"""After all numbers of two ranks, whose bits are never all set."""


class RankedRows(NamedTuple):
    """The lists of one direction.

    Args:
        neighbours: ``uint32``, ascending in each list.
        starts: ``uint32[nodes + 1]``: start of the list of each rank.
        middles: ``uint32[nodes]``: where in it the neighbours below the node begin.
    """

    neighbours: DeviceArray
    starts: DeviceArray
    middles: DeviceArray


class RankedLists(NamedTuple):
    """Lists of both directions, without loops.

    Args:
        outgoing: From starts to ends.
        incoming: From ends to starts; the same object if relationships are undirected.
        nodes: The number of nodes.
        size: The number of entries of a direction.
        max_above: Maximum number of neighbours above a node in one list.
        loops: ``uint32[nodes]``: the number of loops of each rank; None if there are none.
    """

    outgoing: RankedRows
    incoming: RankedRows
    nodes: int
    size: int
    max_above: int
    loops: DeviceArray | None

    @property
    def is_undirected(self) -> bool:
        """True if each relationship is in the lists of both its ends."""
        return self.outgoing is self.incoming

    @property
    def arguments(self) -> tuple[DeviceArray, ...]:
        """Arguments for ``RANKED_PARAMETERS``."""
        return (*self.outgoing, *self.incoming)

    @property
    def arrays(self) -> tuple[DeviceArray, ...]:
        """All arrays, each once."""
        rows = self.outgoing if self.is_undirected else self.arguments
        return (*rows, *([] if self.loops is None else [self.loops]))

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(each.nbytes for each in self.arrays)


class RankedKernels:
    """Makes ranked lists."""

    def __init__(self, context: DeviceContext) -> None:
        self._sort, self._sums = RadixSort(context), PrefixSum(context)

        def kernel(name: str, parameters: str) -> Kernel:
            return get_kernel(context, _FILE, name, parameters)

        self._measure = kernel("measure_nodes", f"{GRAPH}IIQbbb")
        self._write_ranks = kernel("write_ranks", "bIb")
        self._pack = kernel("pack_ranked", f"{GRAPH}IIbQbIIbb")
        self._pack_window = kernel("pack_window", f"{GRAPH}IIbQbIIIbbb")
        self._unpack = kernel("unpack_ranked", "bQIbQ")
        self._write_starts = kernel("write_starts", "bQIIIIbbb")

    def made(
        self,
        workspace: Workspace,
        graph: Sequence[Any],
        type_id: int | None,
        nodes: int,
        entries: int,
        *,
        undirected: bool = False,
    ) -> RankedLists:
        """Makes the lists of a type; None stands for any.

        Args:
            workspace: Owner of the lists.
            graph: Arguments for ``GRAPH_PARAMETERS``.
            type_id: Type of the relationships.
            nodes: The number of nodes of the data graph.
            entries: The number of relationships of the data graph, of any type.
            undirected: True to put all relationships of a node in one list.

        Raises:
            MemoryLimitError: They do not fit.
        """
        # One more number than nodes, for the ends of loops.
        kind, bits = NONE if type_id is None else type_id, bits_for(nodes + 1)
        before, ranks, keys = self._ranked(workspace, graph, kind, nodes, 2 * entries)
        workspace.release(keys)
        count = int(workspace.download(before, nodes, 1)[0])
        size = 2 * count if undirected else count
        numbers = workspace.allocate(max(1, size), np.uint64, "relationships by rank")
        loops = workspace.allocate(nodes, np.uint32, "loops by rank")
        max_above = workspace.allocate(1, np.uint32, "longest list by rank")
        for each in (loops, max_above):
            workspace.fill(each, 0)
        packed = (before, count, ranks, bits, undirected, numbers, loops)
        self._pack(count, *graph, kind, nodes, *packed)
        workspace.release(before, ranks)
        rows = []
        for _ in range(1 if undirected else 2):
            numbers, _beside = self._sort.run(workspace, numbers, None, 2 * bits)
            rows.append(self._rows(workspace, numbers, nodes, size, bits, max_above))
        found = RankedLists(
            rows[0],
            rows[-1],
            nodes,
            int(workspace.download(rows[0].starts, nodes, 1)[0]),
            int(workspace.download(max_above)[0]),
            loops,
        )
        workspace.release(numbers, max_above)
        if found.size < size:
            return found
        workspace.release(loops)
        return found._replace(loops=None)

    def made_in_windows(
        self,
        workspace: Workspace,
        graph: Sequence[Any],
        type_id: int | None,
        nodes: int,
        entries: int,
        window: int,
        check: Callable[[], None],
    ) -> RankedLists:
        """Makes the lists of both directions in one, in windows of ranks, which takes less memory.

        Args: as of `made`, and
            window: Maximum number of entries that are sorted at once. A list is never divided.
            check: Called between windows.

        Raises:
            MemoryLimitError: They do not fit.
        """
        kind, bits, most = NONE if type_id is None else type_id, bits_for(nodes + 1), 2 * entries
        before, ranks, keys = self._ranked(workspace, graph, kind, nodes, most)
        ends = most - workspace.download(keys)
        np.cumsum(ends, out=ends)
        workspace.release(keys)
        count = int(workspace.download(before, nodes, 1)[0])
        starts = workspace.allocate(nodes + 1, np.uint32, "lists by rank")
        middles = workspace.allocate(nodes, np.uint32, "lists by rank")
        neighbours = workspace.allocate(max(1, 2 * count), np.uint32, "lists by rank")
        loops = workspace.allocate(nodes, np.uint32, "loops by rank")
        max_above = workspace.allocate(1, np.uint32, "longest list by rank")
        written = workspace.allocate(1, np.uint32, "counters")
        for each in (loops, max_above):
            workspace.fill(each, 0)
        low = size = 0
        while low < nodes:
            check()
            done = int(ends[low - 1]) if low else 0
            high = max(low + 1, int(np.searchsorted(ends, done + window, side="right")))
            room = max(1, int(ends[high - 1]) - done)
            numbers = workspace.allocate(room, np.uint64, "relationships by rank")
            # Loops leave places, which come last.
            workspace.fill(numbers, _LAST)
            workspace.fill(written, 0)
            packed = (before, count, ranks, bits, low, high, written, numbers, loops)
            self._pack_window(count, *graph, kind, nodes, *packed)
            found = int(workspace.download(written)[0])
            numbers, _beside = self._sort.run(workspace, numbers, None, 2 * bits)
            of_window = (high - low, low, size)
            self._write_starts(
                high - low + 1, numbers, found, bits, *of_window, starts, middles, max_above
            )
            self._unpack(found, numbers, found, bits, neighbours, size)
            workspace.release(numbers)
            low, size = high, size + found
        longest = int(workspace.download(max_above)[0])
        workspace.release(before, ranks, written, max_above)
        rows = RankedRows(neighbours, starts, middles)
        if size == 2 * count:
            workspace.release(loops)
        return RankedLists(rows, rows, nodes, size, longest, None if size == 2 * count else loops)

    def ranks(
        self, workspace: Workspace, graph: Sequence[Any], kind: int, nodes: int, most: int
    ) -> tuple[DeviceArray, DeviceArray]:
        """The number of outgoing entries of the nodes before each node, and the nodes' ranks.

        Args:
            workspace: Owner of the results: ``uint64[nodes + 1]`` and ``uint32[nodes]``.
            graph: Arguments for ``GRAPH_PARAMETERS``; entries are not read.
            kind: A type, or NONE for any.
            nodes: The number of nodes of the data graph.
            most: Maximum number of relationships of a node.

        Raises:
            MemoryLimitError: They do not fit.
        """
        before, ranks, keys = self._ranked(workspace, graph, kind, nodes, most)
        workspace.release(keys)
        return before, ranks

    def _ranked(
        self, workspace: Workspace, graph: Sequence[Any], kind: int, nodes: int, most: int
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """As `ranks`, and ``uint64[nodes]``: ``most`` less the relationships of each rank."""
        lengths = workspace.allocate(nodes, np.uint32, "lengths of lists")
        keys = workspace.allocate(nodes, np.uint64, "degrees")
        order: DeviceArray | None = workspace.allocate(nodes, np.uint32, "nodes by degree")
        self._measure(nodes, *graph, kind, nodes, most, lengths, keys, order)
        before = self._sums.run(workspace, lengths, 0, nodes)
        workspace.release(lengths)
        keys, order = self._sort.run(workspace, keys, order, most.bit_length())
        ranks = workspace.allocate(nodes, np.uint32, "ranks of nodes")
        self._write_ranks(nodes, order, nodes, ranks)
        workspace.release(order)
        return before, ranks, keys

    def _rows(
        self,
        workspace: Workspace,
        numbers: DeviceArray,
        nodes: int,
        count: int,
        bits: int,
        max_above: DeviceArray,
    ) -> RankedRows:
        """Rows from sorted numbers; exchanges the two ranks in each number."""
        starts = workspace.allocate(nodes + 1, np.uint32, "lists by rank")
        middles = workspace.allocate(nodes, np.uint32, "lists by rank")
        neighbours = workspace.allocate(max(1, count), np.uint32, "lists by rank")
        of_all = (nodes, 0, 0)
        self._write_starts(nodes + 1, numbers, count, bits, *of_all, starts, middles, max_above)
        self.unpack(numbers, count, bits, neighbours)
        return RankedRows(neighbours, starts, middles)

    def unpack(self, numbers: DeviceArray, count: int, bits: int, neighbours: DeviceArray) -> None:
        """Writes the low ``bits`` of each number to ``neighbours``; exchanges its two ranks."""
        self._unpack(count, numbers, count, bits, neighbours, 0)
