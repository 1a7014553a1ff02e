"""Lists derived from a data graph: merged ones of several types, bitmaps of long ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH, get_kernel
from gpugda.errors import MemoryLimitError
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.primitives import PrefixSum
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = [
    "HUB_PARAMETERS",
    "NO_HUBS",
    "HubBitmaps",
    "ListKind",
    "MergeKernels",
    "MergedLists",
    "hub_runs",
    "make_hub_bitmaps",
]

_MERGED_LISTS_FILE = "merged_lists.cl"
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
        self._measure = get_kernel(
            context, _MERGED_LISTS_FILE, "measure_merged", f"{GRAPH}{_WANTED}Ib"
        )
        self._merge = get_kernel(
            context, _MERGED_LISTS_FILE, "merge_lists", f"{GRAPH}{_WANTED}IIIbbb"
        )

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


HUB_PARAMETERS = "bbbI"
_SHORTEST = 32
"""Minimum length of a list with a bitmap: five steps of a search cost more than a bitmap probe."""
_MAX_BYTES = 1 << 33
"""Maximum bytes of all bitmaps. Further bitmaps would be for shorter lists and gain little.

NVIDIA's driver cannot fill larger buffers, as it counts words in 31 bits.
"""


@value(frozen=True, slots=True, eq=False)
class HubBitmaps:
    """Bitmaps, and which run has which bitmap.

    Args:
        slots: ``uint32`` for each run of the outgoing, and of the incoming rows: its bitmap or
            ``NONE``.
        bits: ``uint32[bitmaps * words]``.
        shortest: Runs with fewer entries have no bitmap.
    """

    slots: tuple[DeviceArray | None, DeviceArray | None]
    bits: DeviceArray | None
    shortest: int

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments for ``HUB_PARAMETERS``."""
        return (*self.slots, self.bits, self.shortest)

    def arrays(self) -> list[DeviceArray | None]:
        """All arrays on the device."""
        return [*self.slots, self.bits]


NO_HUBS = HubBitmaps((None, None), None, NONE)


def hub_runs(
    starts: Sequence[NDArray[np.uint32]], words: int, max_bytes: int
) -> list[NDArray[np.uint32]]:
    """Selects the longest runs of each direction, as many as there is memory for their bitmaps.

    Args:
        starts: Starts of the runs of both directions.
        words: Words of a bitmap.
        max_bytes: Maximum bytes of the bitmaps and of the slots of all runs.
    """
    lengths = [np.diff(each) for each in starts]
    most = (max_bytes - 4 * sum(map(len, lengths))) // (4 * words)
    long = np.concatenate([each[each >= _SHORTEST] for each in lengths])
    shortest = _SHORTEST
    if len(long) > most:
        # One above the longest that does not fit: of equally long runs, all have a bitmap or none.
        shortest = int(np.sort(long)[-most - 1]) + 1 if most >= 0 else NONE
    return [np.flatnonzero(each >= shortest).astype(np.uint32) for each in lengths]


def make_hub_bitmaps(
    workspace: Workspace,
    starts: Sequence[NDArray[np.uint32]],
    arrays: Sequence[Sequence[DeviceArray | None]],
    words: int,
    max_bytes: int,
) -> HubBitmaps:
    """Makes the bitmaps of the longest runs; none if no run is long, or nothing fits.

    Args:
        workspace: Owner of the bitmaps.
        starts: Starts of the runs of outgoing and incoming rows.
        arrays: The same on the device, as in ``csr.h``.
        words: Words of a bitmap.
        max_bytes: Maximum bytes of all arrays made here.
    """
    longest = workspace.context.info.max_allocation_bytes
    runs = hub_runs(starts, words, min(max_bytes, longest, _MAX_BYTES))
    if not sum(map(len, runs)):
        return NO_HUBS
    made: list[DeviceArray] = []
    try:
        for each, found, first in zip(starts, runs, (0, len(runs[0])), strict=True):
            slots = np.full(len(each) - 1, NONE, dtype=np.uint32)
            slots[found] = np.arange(first, first + len(found), dtype=np.uint32)
            made.append(workspace.upload(slots, "long lists"))
        made.append(_bitmaps(workspace, runs, arrays, words))
    except MemoryLimitError:
        # The device has less memory than it reported; everything works without bitmaps.
        workspace.release(*made)
        workspace.trim()
        return NO_HUBS
    lengths = [np.diff(each)[found] for each, found in zip(starts, runs, strict=True)]
    return HubBitmaps((made[0], made[1]), made[2], int(np.concatenate(lengths).min()))


def _bitmaps(
    workspace: Workspace,
    runs: Sequence[NDArray[np.uint32]],
    arrays: Sequence[Sequence[DeviceArray | None]],
    words: int,
) -> DeviceArray:
    context = workspace.context
    bits = workspace.allocate(sum(map(len, runs)) * words, np.uint32, "bitmaps of long lists")
    mark = get_kernel(context, "hub_bitmaps.cl", "mark_hubs", "bbbIIIb")
    max_groups = context.info.compute_units * context.profile.groups_per_unit
    try:
        workspace.fill(bits, 0)
        first = 0
        for found, (neighbours, _, _, begins, *_) in zip(runs, arrays, strict=True):
            if len(found):
                listed = workspace.upload(found, "long lists")
                groups, numbers = min(len(found), max_groups), (len(found), first, words)
                mark.launch_groups(groups, neighbours, begins, listed, *numbers, bits)
                workspace.release(listed)
            first += len(found)
    except MemoryLimitError:
        workspace.release(bits)
        raise
    # Kernels must not still read arrays that are freed.
    context.finish()
    workspace.trim()
    return bits
