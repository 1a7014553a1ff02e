"""Lists of each node's higher-ranked neighbours, on the host, for graphs beyond a GPU's memory.

They have half as many entries as the graph has in both directions. The GPU makes the lists window
by window, or the host does if the GPU has no room for that; later they are read in segments.
"""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gpugda.config import host_limit, machine_bytes
from gpugda.data.sorting import bits_for
from gpugda.data.threads import core_count, in_threads_ahead, pieces_of, written_in_threads
from gpugda.deadline import check_time
from gpugda.device.graph.directory import run_starts
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.upward_lists import EntryChunk
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

    _Numbers = NDArray[np.uint64]

__all__ = [
    "HOST_BYTES",
    "MadeLists",
    "UpwardGraph",
    "UpwardLists",
    "has_host_room",
    "host_ranks",
    "window_entries",
]

HOST_BYTES = 24
"""Bytes of the host's memory per relationship while lists are made."""
_Found = TypeVar("_Found")
_MIN_PIECE, _MAX_PIECE = 1 << 12, 1 << 22
"""Entries that a thread sorts at a time. There are as many windows as pieces, and each window takes
a slice of each piece."""
_PIECES_PER_CORE = 2
_SAMPLES = 64
"""Numbers per piece and window from which the bounds of windows are chosen."""


class MadeLists:
    """The lists of one type. Threads sort pieces of the relationships, then windows of lists.

    A relationship is a number: its list in the upper bits, the neighbour in the lower ones.

    Args:
        graph: The data graph.
        type_id: The type.

    Attributes:
        starts: See `UpwardLists`.

    Raises:
        QueryTimeoutError: The deadline of this thread's work passed.
    """

    def __init__(self, graph: DataGraph, type_id: int) -> None:
        self._bits = np.uint64(bits_for(graph.node_count))
        ranks = host_ranks(graph, type_id)
        total, cores = graph.relationship_count, core_count()
        size = -(-total // (_PIECES_PER_CORE * cores))
        size = max(_MIN_PIECE, min(_MAX_PIECE, size))

        def numbers_of(piece: slice) -> _Numbers:
            return _numbers(graph, type_id, ranks, piece, self._bits)

        pieces = _checked(in_threads_ahead(numbers_of, pieces_of(total, size)))
        bounds = _bounds(pieces, int(self._bits), 2 * graph.node_count)

        def sort(window: tuple[int, int]) -> _Numbers:
            return _merged(pieces, *window)

        self._windows = _checked(in_threads_ahead(sort, list(pairwise(bounds))))
        self.starts = self._starts(2 * graph.node_count)

    @property
    def count(self) -> int:
        """The number of entries of all lists."""
        return sum(map(len, self._windows))

    def write(self, target: NDArray[np.uint32]) -> None:
        """Writes the neighbours, list by list, to an array of `count` elements."""
        lowest = (np.uint64(1) << self._bits) - np.uint64(1)
        ends = np.cumsum([0, *map(len, self._windows)]).tolist()

        def copy(number: int) -> None:
            target[ends[number] : ends[number + 1]] = self._windows[number] & lowest

        _checked(in_threads_ahead(copy, range(len(self._windows))))

    def _starts(self, lists: int) -> NDArray[np.uint32]:
        starts = np.zeros(lists + 1, dtype=np.uint32)

        def count(window: _Numbers) -> None:
            if not len(window):
                return
            found = (window >> self._bits).astype(np.int64)
            first = int(found[0])
            counts = np.bincount(found - first)
            starts[first + 1 : first + 1 + len(counts)] = counts

        _checked(in_threads_ahead(count, self._windows))
        np.cumsum(starts, out=starts)
        return starts


def _checked(found: Iterable[_Found]) -> list[_Found]:
    """The results, with the deadline checked after each."""
    made = []
    for each in found:
        check_time()
        made.append(each)
    return made


def _numbers(
    graph: DataGraph, type_id: int, ranks: NDArray[np.uint32], piece: slice, bits: np.uint64
) -> _Numbers:
    """The sorted numbers of a piece of the outgoing entries, without those of self-loops."""
    nodes, types = graph.outgoing.entries(piece)
    neighbours = graph.outgoing.neighbours[piece]
    fits = nodes != neighbours
    if len(graph.types) > 1:
        fits &= types == type_id
    if not fits.all():
        nodes, neighbours = nodes[fits], neighbours[fits]
    starts, ends = np.take(ranks, nodes), np.take(ranks, neighbours)
    found = 2 * np.maximum(starts, ends).astype(np.uint64)
    found += starts < ends
    found <<= bits
    found |= np.minimum(starts, ends)
    found.sort()
    return found


def _bounds(pieces: Sequence[_Numbers], bits: int, lists: int) -> list[int]:
    """Bounds of as many windows with about as many numbers each, between two lists' numbers."""
    windows = len(pieces)
    some = [each[:: max(1, len(each) // (_SAMPLES * windows))] for each in pieces]
    sample = np.sort(np.concatenate([*some, np.empty(0, dtype=np.uint64)]))
    places = [len(sample) * each // windows for each in range(1, windows)] if len(sample) else []
    inner = [int(sample[each]) >> bits << bits for each in places]
    return [0, *inner, lists << bits]


def _merged(pieces: Sequence[_Numbers], low: int, high: int) -> _Numbers:
    """The numbers from ``low`` to before ``high``, sorted."""
    bounds = np.array([low, high], dtype=np.uint64)
    found = [each[slice(*np.searchsorted(each, bounds))] for each in pieces]
    merged = np.concatenate([*found, np.empty(0, dtype=np.uint64)])
    merged.sort()
    return merged


def host_ranks(graph: DataGraph, type_id: int) -> NDArray[np.uint32]:
    """``uint32[n]``: ranks of nodes by their relationships of a type, most first, then by index."""
    types = None if len(graph.types) <= 1 else [type_id]
    degrees = graph.outgoing.degrees(types) + graph.incoming.degrees(types)
    fewer = int(degrees.max(initial=0)) - degrees
    # NumPy sorts numbers of 16 bits by their digits, which takes a tenth of the time.
    order = np.argsort(fewer.astype(np.uint16), kind="stable")
    upper = (fewer >> 16).astype(np.uint16)
    if upper.any():
        order = order[np.argsort(upper[order], kind="stable")]
    ranks = np.empty(graph.node_count, dtype=np.uint32)
    ranks[order] = np.arange(graph.node_count, dtype=np.uint32)
    return ranks


_BYTES_EACH = 22
"""Device bytes per entry while lists are made: two sort keys, the result, a share of the counts."""
_SHARE, _SHARE_OF_CHUNKS = 0.9, 0.1
"""Shares of the free memory: for all arrays, and for each of two chunks."""
_SHARE_OF_HOST = 0.25
"""Default limit for the lists of one type: share of the host's memory."""
_SHARE_WHILE_MADE = 0.5
"""The same for what is needed to make them on the host."""
_MAX_CHUNK, _MIN_CHUNK = 1 << 24, 1 << 10
_MAX_WINDOWS = 64
"""Windows in which lists are made; all entries are read once per window."""
_MAX_NODES = 1 << 30
"""Each node has two lists, whose numbers have 32 bits."""


class UpwardLists(NamedTuple):
    """Lists of one type, without self-loops. Nodes are numbered by rank, highest degree first.

    Args:
        neighbours: ``uint32``, ascending in each list; page-locked if that pays off.
        starts: ``uint32[2 * nodes + 1]``: list ``2 v`` holds the higher-ranked ends of
            relationships that leave node ``v``, list ``2 v + 1`` the higher-ranked starts of those
            that reach it.
    """

    neighbours: NDArray[np.uint32]
    starts: NDArray[np.uint32]

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.starts) // 2


class UpwardGraph:
    """The upward lists of one graph, by type, shared by its queries."""

    def __init__(self) -> None:
        self._lists: dict[int, UpwardLists | None] = {}
        # Page-locked memory lives as long as the graph: a query that runs out of time leaves it to
        # the next one.
        self._begun: dict[int, NDArray[np.uint32]] = {}
        self._lock = threading.Lock()

    def has(self, type_id: int) -> bool:
        """True if the lists of a type exist."""
        return self._lists.get(type_id) is not None

    def lists(self, run: Run, type_id: int) -> UpwardLists | None:
        """The lists of a type; None if there is no room to make them.

        The run holds the device.
        """
        with self._lock:
            if type_id not in self._lists:
                self._lists[type_id] = _made_if_room(run, type_id, self._begun)
            return self._lists[type_id]


def _made_if_room(
    run: Run, type_id: int, begun: dict[int, NDArray[np.uint32]]
) -> UpwardLists | None:
    graph = run.graph.graph
    if not has_host_room(graph):
        return None
    with run.stage("rank"):
        found = _made_on_device(run, type_id, begun) if run.placement.has_directory else None
        if found is None and _has_room_to_make(graph):
            found = _made_on_host(run, type_id)
    return found


def _made_on_device(
    run: Run, type_id: int, begun: dict[int, NDArray[np.uint32]]
) -> UpwardLists | None:
    try:
        with run.workspace.reclaiming(MemoryLimitError):
            return _Maker(run, type_id).made(begun)
    except MemoryLimitError:
        return None


def _made_on_host(run: Run, type_id: int) -> UpwardLists:
    made = MadeLists(run.graph.graph, type_id)
    neighbours, starts = _place(run, made.count), _place(run, len(made.starts))
    made.write(neighbours)
    np.copyto(starts, made.starts)
    return UpwardLists(neighbours, starts)


def _place(run: Run, count: int) -> NDArray[np.uint32]:
    """An array on the host, page-locked if there is room."""
    found = run.graph.page_locked.empty(count, np.uint32)
    return written_in_threads(count, np.uint32) if found is None else found


def has_host_room(graph: DataGraph) -> bool:
    """True if the host has room for the lists of a graph."""
    return 4 * graph.relationship_count <= _host_bytes(_SHARE_OF_HOST) and (
        graph.node_count <= _MAX_NODES
    )


def _has_room_to_make(graph: DataGraph) -> bool:
    """True if the host has room to make the lists."""
    return HOST_BYTES * graph.relationship_count <= _host_bytes(_SHARE_WHILE_MADE)


def _host_bytes(share: float) -> float:
    asked = host_limit()
    return machine_bytes() * share if asked is None else asked


def window_entries(free: int) -> int:
    """Number of entries per window, given the free bytes on the device."""
    return max(1, int(free * _SHARE) // _BYTES_EACH)


class _Maker:
    """Makes lists window by window. Each window reads all entries once, in chunks."""

    def __init__(self, run: Run, type_id: int) -> None:
        self._run, self._workspace = run, run.workspace
        graph, context = run.graph.graph, run.graph.context
        from gpugda.device.launch.primitives import RadixSort
        from gpugda.device.launch.ranked_lists import RankedKernels
        from gpugda.device.launch.upward_lists import UpwardKernels, UpwardSource

        self._kernels, self._sort = UpwardKernels(context), RadixSort(context)
        self._ranked = RankedKernels(context)
        self._total, self._nodes = graph.relationship_count, graph.node_count
        directory = run.graph.directory_arguments(run.workspace.budget)
        ranks = self._ranks(directory, type_id)
        runs = len(run_starts(graph.outgoing, len(graph.types))) - 1
        self._source = UpwardSource(directory, type_id, self._nodes, runs, ranks)
        size = int(self._workspace.available * _SHARE_OF_CHUNKS) // 4
        self._chunk = max(_MIN_CHUNK, min(_MAX_CHUNK, size, self._total))
        self._chunks = self._workspace.allocate(2 * self._chunk, np.uint32, "entries of a chunk")

    def _ranks(self, directory: Sequence[Any], type_id: int) -> DeviceArray:
        """Ranks of the nodes, computed on the host if the device has no room to sort them."""
        workspace, most = self._workspace, 2 * self._total
        try:
            with workspace.reclaiming(MemoryLimitError):
                found = self._ranked.ranks(workspace, directory, type_id, self._nodes, most)
        except MemoryLimitError:
            return workspace.upload(host_ranks(self._run.graph.graph, type_id), "ranks of nodes")
        workspace.release(found[0])
        return found[1]

    def made(self, begun: dict[int, NDArray[np.uint32]]) -> UpwardLists | None:
        """The lists; None if that would take too many windows.

        Args:
            begun: Arrays for lists that an earlier query did not complete, by type.

        Raises:
            MemoryLimitError: There is no room.
        """
        starts = self._starts()
        windows = self._windows(starts)
        if windows is None:
            return None
        kind = self._source.type_id
        if kind not in begun:
            begun[kind] = _place(self._run, int(starts[-1]))
        neighbours = begun[kind]
        for first, last in windows:
            self._write(starts, first, last, neighbours)
        self._workspace.release(self._source.ranks, self._chunks)
        sent = _place(self._run, len(starts))
        np.copyto(sent, starts)
        return UpwardLists(begun.pop(kind), sent)

    def _starts(self) -> NDArray[np.uint32]:
        workspace = self._workspace
        counts = workspace.allocate(2 * self._nodes, np.uint32, "lengths of lists")
        workspace.fill(counts, 0)
        for chunk in self._entries():
            self._kernels.count(self._source, chunk, counts)
        lengths = workspace.download(counts)
        workspace.release(counts)
        starts = np.zeros(2 * self._nodes + 1, dtype=np.uint32)
        np.cumsum(lengths, out=starts[1:])
        return starts

    def _windows(self, starts: NDArray[np.uint32]) -> list[tuple[int, int]] | None:
        """The windows of lists, as pairs of the first list and the one after the last."""
        most = window_entries(self._workspace.available)
        bounds = [0]
        while bounds[-1] < len(starts) - 1:
            end = int(starts[bounds[-1]]) + most
            # In the dtype of the starts: otherwise searchsorted would cast all of them.
            until = np.uint32(min(end, int(starts[-1])))
            last = int(np.searchsorted(starts, until, side="right")) - 1
            if last <= bounds[-1] or len(bounds) > _MAX_WINDOWS:
                return None
            bounds.append(last)
        return list(pairwise(bounds))

    def _write(
        self, starts: NDArray[np.uint32], first: int, last: int, target: NDArray[np.uint32]
    ) -> None:
        """Makes the lists ``first … last-1``."""
        workspace, bits = self._workspace, bits_for(self._nodes)
        begin, end = int(starts[first]), int(starts[last])
        if begin == end:
            return
        numbers = workspace.allocate(end - begin, np.uint64, "relationships by rank")
        written = workspace.upload(np.zeros(1, dtype=np.uint32), "counters")
        for chunk in self._entries():
            lists = (first, last - first)
            self._kernels.pack(self._source, chunk, lists, bits, written, numbers)
        numbers, _ = self._sort.run(workspace, numbers, None, bits_for(last - first) + bits)
        neighbours = workspace.allocate(end - begin, np.uint32, "lists by rank")
        self._ranked.unpack(numbers, end - begin, bits, neighbours)
        workspace.read(neighbours, target[begin:end])
        workspace.release(numbers, written, neighbours)

    def _entries(self) -> Iterator[EntryChunk]:
        """Yields the outgoing entries; the next chunk is uploaded while kernels read this one."""
        uploads, events = self._workspace.uploads(), self._sent(0)
        for number, first in enumerate(range(0, self._total, self._chunk)):
            self._run.check_deadline()
            coming = self._sent(number + 1)
            uploads.wait_on_device(events)
            count = min(self._chunk, self._total - first)
            from gpugda.device.launch.upward_lists import EntryChunk

            yield EntryChunk(self._chunks, number % 2 * self._chunk, first, count)
            events = coming

    def _sent(self, number: int) -> list[object]:
        first = number * self._chunk
        if first >= self._total:
            return []
        # Read once per window, and not again: locking the pages would take longer.
        some = self._run.graph.graph.outgoing.neighbours[first : first + self._chunk]
        uploads, place = self._workspace.uploads(), number % 2 * self._chunk
        return [uploads.begin(self._chunks, place, some)]
