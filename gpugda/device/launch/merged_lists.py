"""Merges lists of several types and directions; launcher of ``merged_lists.cl``."""

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
_MAX_ENTRIES = 0xFFFFFFFF


class ListKind(NamedTuple):
    """The kind of relationships in a node's list.

    Args:
        types: Type ids, ascending; None for any.
        outgoing: True to include relationships that start at the node.
        incoming: True to include those that end there.
    """

    types: tuple[int, ...] | None
    outgoing: bool
    incoming: bool


class MergedLists(NamedTuple):
    """One list per node, sorted by neighbour. The relationships of the entries are not known.

    Args:
        starts: ``uint32[nodes + 1]``, on the host.
        neighbours: On the device.
        device_starts: ``starts``, on the device.
        most: Maximum number of entries of a list that lead to the same node.
    """

    starts: NDArray[np.uint32]
    neighbours: DeviceArray
    device_starts: DeviceArray
    most: int

    @property
    def csr(self) -> tuple[Any, ...]:
        """The arrays of one direction, as in ``csr.h``, for a graph of one type."""
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
        """Makes the lists of a kind; None if they have more entries than 32 bits can number.

        Args:
            workspace: Owner of the lists.
            sums: Prefix sum, for lengths.
            graph: Arguments for ``GRAPH_PARAMETERS``.
            kind: The kind of relationships in a list.
            nodes: The number of nodes of the data graph.
            entries: The numbers of entries of all outgoing, and of all incoming rows.
            has_loops: True if relationships of these types may be loops.

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
        if total > _MAX_ENTRIES:
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
