"""Merging lists of several types and directions; launcher of ``merged_lists.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.prefix_sum import PrefixSum
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["ListKind", "MergeKernels", "MergedLists"]

_FILE = "merged_lists.cl"
_WANTED = "bIII"
_MOST_ENTRIES = 0xFFFFFFFF


class ListKind(NamedTuple):
    """Which relationships of a node are in its list.

    Args:
        types: Type ids, rising; None for any.
        outgoing: Those that start at the node?
        incoming: Those that end there?
    """

    types: tuple[int, ...] | None
    outgoing: bool
    incoming: bool


class MergedLists(NamedTuple):
    """One list per node, sorted by neighbour. Which relationship an entry is, is not known.

    Args:
        starts: ``uint32[nodes + 1]``, on the host.
        neighbours: On the device.
        device_starts: ``starts``, on the device.
        most: So many entries of a list, at most, lead to one node.
    """

    starts: NDArray[np.uint32]
    neighbours: DeviceArray
    device_starts: DeviceArray
    most: int

    @property
    def csr(self) -> tuple[Any, ...]:
        """The arrays of one direction, as ``csr.h`` has them: a graph of one type."""
        return (self.neighbours, None, None, self.device_starts)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self.neighbours.nbytes + self.device_starts.nbytes


class MergeKernels:
    """Makes merged lists."""

    def __init__(self, context: DeviceContext) -> None:
        self._measure = get_kernel(context, _FILE, "measure_merged", f"{GRAPH}{_WANTED}Ib")
        self._merge = get_kernel(context, _FILE, "merge_lists", f"{GRAPH}{_WANTED}IIIbbb")

    def merged(
        self,
        workspace: Workspace,
        sums: PrefixSum,
        graph: Sequence[Any],
        kind: ListKind,
        nodes: int,
        entries: tuple[int, int],
        *,
        has_loops: bool,
    ) -> MergedLists | None:
        """The lists of a kind; None where they have more entries than can be numbered.

        Args:
            workspace: Owns them.
            sums: Adds up lengths.
            graph: Arguments for ``GRAPH_PARAMETERS``.
            kind: What is in a list.
            nodes: Nodes of the data graph.
            entries: Of all outgoing, and of all incoming rows.
            has_loops: May relationships of these types lead from a node to itself?

        Raises:
            MemoryLimitError: They do not fit.
        """
        types = np.array(kind.types or (0,), dtype=np.uint32)
        type_words = workspace.upload(types, "types of merged lists")
        wanted = (
            type_words,
            NONE if kind.types is None else len(kind.types),
            kind.outgoing | kind.incoming << 1,
            has_loops and kind.outgoing and kind.incoming,
        )
        lengths = workspace.allocate(nodes, np.uint32, "lengths of merged lists")
        self._measure(nodes, *graph, *wanted, nodes, lengths)
        added = sums.run(workspace, lengths, 0, nodes)
        starts = workspace.download(added)
        workspace.release(lengths, added)
        total = int(starts[nodes])
        if total > _MOST_ENTRIES:
            workspace.release(type_words)
            return None
        host_starts = starts[: nodes + 1].astype(np.uint32)
        device_starts = workspace.upload(host_starts, "merged lists")
        neighbours = workspace.allocate(max(1, total), np.uint32, "merged lists")
        most = workspace.upload(np.ones(1, dtype=np.uint32), "counters")
        for is_incoming, is_wanted in enumerate((kind.outgoing, kind.incoming)):
            count = entries[is_incoming]
            if is_wanted and count:
                places = (nodes, count, is_incoming, device_starts, neighbours, most)
                self._merge(count, *graph, *wanted, *places)
        found = int(workspace.download(most)[0])
        workspace.release(most, type_words)
        return MergedLists(host_starts, neighbours, device_starts, found)
