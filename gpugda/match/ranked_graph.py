"""Lists sorted by rank, made on a GPU for cycles and cliques of unrestricted nodes, and kept.

Nodes with most relationships come first, so that a node's higher-ranked or lower-ranked neighbours
are one contiguous part of its list. The lists are freed when memory is short.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.sorting import bits_for
from gpugda.deadline import check_time
from gpugda.device.launch.ranked_lists import RankedLists, RankedRows
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.match.run import Run


__all__ = ["RankedGraph", "made_on_host"]


def made_on_host(run: Run, type_id: int | None, *, undirected: bool) -> RankedLists:
    """The lists of a type, None for any; see `RankedKernels.made`.

    Raises:
        MemoryLimitError: They do not fit.
        QueryTimeoutError: The deadline passed.
    """
    graph, nodes = run.graph.graph, run.graph.graph.node_count
    types = None if type_id is None or len(graph.types) <= 1 else [type_id]
    degrees = graph.outgoing.degrees(types) + graph.incoming.degrees(types)
    ranks = np.empty(nodes, dtype=np.uint32)
    ranks[np.argsort(-degrees.astype(np.int64), kind="stable")] = np.arange(nodes, dtype=np.uint32)
    check_time()
    starts, kinds = graph.outgoing.entries(slice(0, graph.relationship_count))
    ends = graph.outgoing.neighbours[: graph.relationship_count]
    if types is not None:
        starts, ends = starts[kinds == type_id], ends[kinds == type_id]
    first, second = ranks[starts], ranks[ends]
    is_loop = first == second
    loops = np.bincount(first[is_loop], minlength=nodes).astype(np.uint32)
    first, second = first[~is_loop], second[~is_loop]
    check_time()
    if undirected:
        both = np.concatenate([first, second]), np.concatenate([second, first])
        rows = [_rows(run, *both, nodes)]
    else:
        rows = [_rows(run, first, second, nodes), _rows(run, second, first, nodes)]
    made = run.workspace.upload(loops, "loops by rank") if is_loop.any() else None
    outgoing, above = rows[0]
    size = len(first) * (2 if undirected else 1)
    return RankedLists(outgoing, rows[-1][0], nodes, size, max(above, rows[-1][1]), made)


def _rows(
    run: Run, nodes: NDArray[np.uint32], neighbours: NDArray[np.uint32], count: int
) -> tuple[RankedRows, int]:
    """The lists, and the largest number of neighbours above a node in one of them."""
    bits = np.uint64(bits_for(count + 1))
    numbers = nodes.astype(np.uint64) << bits | neighbours
    numbers.sort()
    check_time()
    lowest = (np.uint64(1) << bits) - np.uint64(1)
    starts = np.zeros(count + 1, dtype=np.uint32)
    starts[1:] = np.cumsum(np.bincount(nodes, minlength=count))
    above = np.bincount(nodes[neighbours < nodes], minlength=count)
    middles = (starts[:-1] + above).astype(np.uint32)
    entries = np.zeros(max(1, len(numbers)), dtype=np.uint32)
    entries[: len(numbers)] = numbers & lowest
    upload = run.workspace.upload
    arrays = (upload(each, "lists by rank") for each in (entries, starts, middles))
    return RankedRows(*arrays), int(above.max(initial=0))


_BYTES_EACH = {False: 28, True: 44}
"""Peak bytes per relationship: two arrays to sort, and the result; undirected lists take more."""
_BYTES_PER_NODE = 52
_MAX_ENTRIES = 1 << 32
"""Positions in lists have 32 bits."""
_SHARE, _SHARE_IN_WINDOWS = 0.5, 0.9
"""Shares of the free memory that may be used while lists are made, at once and in windows."""
_BYTES_IN_WINDOW, _MAX_WINDOWS = 20, 32
"""Peak bytes per entry of a window. All relationships are read once per window."""


class RankedGraph:
    """The ranked lists of one graph, shared by its queries.

    An array is freed when its last holder releases it: a run can continue with lists that were
    dropped.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[int | None, bool], RankedLists] = {}
        self._has_room = True
        # Reentrant: making lists may need the last memory, so that kept lists are dropped
        # meanwhile.
        self._lock = threading.RLock()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(each.nbytes for each in tuple(self._lists.values()))

    def lists(
        self, run: Run, type_id: int | None, *, undirected: bool = False
    ) -> RankedLists | None:
        """The lists of a type, None for any type. Returns None if there is no room for them.

        The run holds the device. ``undirected``: one list per node for both directions.
        """
        with self._lock:
            known = self._lists.get((type_id, undirected))
            if known is None and self._has_room:
                window = None if _fits(run, undirected=undirected) else _window(run)
                if window is None or (undirected and window):
                    known = self._made(run, type_id, window, undirected=undirected)
            return known

    def _made(
        self, run: Run, type_id: int | None, window: int | None, *, undirected: bool
    ) -> RankedLists | None:
        workspace, graph = run.workspace, run.graph.graph
        try:
            if run.graph.context.profile.intersection == "marks":
                with workspace.reclaiming(MemoryLimitError), run.stage("rank"):
                    made = made_on_host(run, type_id, undirected=undirected)
                return self._kept(run, type_id, made, undirected=undirected)
            from gpugda.device.launch.ranked_lists import RankedKernels

            with workspace.reclaiming(MemoryLimitError), run.stage("rank"):
                kernels, arguments = RankedKernels(run.graph.context), run.graph.csr_arguments
                given = (workspace, arguments(workspace.budget), type_id)
                counts = (graph.node_count, graph.relationship_count)
                if window is None:
                    made = kernels.made(*given, *counts, undirected=undirected)
                else:
                    made = kernels.made_in_windows(*given, *counts, window, run.check_deadline)
        except MemoryLimitError:
            return None
        return self._kept(run, type_id, made, undirected=undirected)

    def _kept(
        self, run: Run, type_id: int | None, made: RankedLists, *, undirected: bool
    ) -> RankedLists:
        if self._has_room:
            run.workspace.hand_over(*made.arrays)
            self._lists[type_id, undirected] = made
        return made

    def drop(self) -> int:
        """Drops all lists and makes no more. Returns the bytes this frees once they are unused."""
        with self._lock:
            freed = self.nbytes
            if freed:
                self._lists.clear()
                self._has_room = False
            return freed


def _window(run: Run) -> int:
    """Entries to sort at once if undirected lists are made in windows; 0 if they do not fit."""
    graph, longest = run.graph.graph, run.graph.context.info.max_allocation_bytes
    entries = 2 * graph.relationship_count
    kept = 4 * entries + _BYTES_PER_NODE * graph.node_count
    room = int(run.workspace.available * _SHARE_IN_WINDOWS) - kept
    if entries >= _MAX_ENTRIES or 4 * entries > longest:
        return 0
    window = min(room, longest) // _BYTES_IN_WINDOW
    return window if window * _MAX_WINDOWS >= entries else 0


def _fits(run: Run, *, undirected: bool) -> bool:
    graph = run.graph.graph
    bytes_each = _BYTES_EACH[undirected]
    needed = bytes_each * graph.relationship_count + _BYTES_PER_NODE * graph.node_count
    entries = (2 if undirected else 1) * graph.relationship_count
    longest: int = run.graph.context.info.max_allocation_bytes
    return (
        needed <= run.workspace.available * _SHARE
        and 8 * entries <= longest
        and entries < _MAX_ENTRIES
    )
