"""Counts triangles of a graph beyond the device's memory: upward lists come in segments.

A triangle's lowest node is in one segment, its middle node in the same segment or in one of higher
nodes: so pairs of segments are processed, of which one stays while the others pass. Segments bring
the starts of their lists.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.upward_lists import NodeLists, UpwardTriangleKernels
from gpugda.errors import MemoryLimitError
from gpugda.match.special.tasks import launches

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.match.upward_lists import UpwardLists

__all__ = ["StreamedCount", "count_streamed", "segment_size", "sent_segments"]

_WORK_PER_LAUNCH = 1 << 24
_PLACES = 3
"""Places for the two segments of a pair, and for one that is prefetched."""
_MAX_SEGMENTS = 1 << 10
"""With more, launches would take longer than anything else."""
_STARTS = 2
"""Lists per node, whose starts are sent with them; one more word ends the last list."""
_SHARE = 0.95
"""Share of the free memory for segments."""


class StreamedCount(NamedTuple):
    """The count, and how it was found.

    Args:
        rows: Number of embeddings.
        segments: Number of segments of the lists.
        sent_bytes: Bytes of the lists that were sent.
    """

    rows: int
    segments: int
    sent_bytes: int


def count_streamed(
    run: Run, lists: UpwardLists, weights: int, *, looks_up: bool, most: int | None = None
) -> StreamedCount | None:
    """The number of embeddings; None if there is no room for segments.

    Args:
        run: Holds the device.
        lists: Lists of the type of all relationships.
        weights: Embeddings per kind of triangle, see ``triangles_above.h``.
        looks_up: True if nodes may have parallel relationships.
        most: Maximum words of a segment; None for as many as fit.
    """
    try:
        with run.workspace.reclaiming(MemoryLimitError):
            return _counted(run, lists, weights, looks_up=looks_up, most=most)
    except MemoryLimitError:
        return None


def _counted(
    run: Run, lists: UpwardLists, weights: int, *, looks_up: bool, most: int | None
) -> StreamedCount | None:
    kernels, workspace = UpwardTriangleKernels(run.graph.context), run.workspace
    tasks = CycleTasks.new(workspace, 1, lists.nodes, _WORK_PER_LAUNCH, kernels.groups)
    before = workspace.uploads().sent
    segments = _segments_within(run, lists, most)
    if segments is None:
        return None
    pairs = _pairs(segments.count)
    for pair, following in zip(pairs, [*pairs[1:], ()], strict=True):
        segments.acquire(pair, following)
        lowest, middle = (segments.nodes(each) for each in pair)
        tasks.start_again(workspace)
        task_count = -(-(lowest.high - lowest.low) // kernels.task_nodes(lowest.high - lowest.low))
        for _ in launches(run, tasks.counters, task_count):
            kernels.count(segments.lists, lowest, middle, weights, tasks, looks_up=looks_up)
    sent = workspace.uploads().sent - before
    workspace.release(segments.lists)
    return StreamedCount(tasks.total(workspace), segments.count, sent)


def _pairs(count: int) -> list[tuple[int, int]]:
    """Pairs of segments, of the lowest and of the middle node; loaded segments come first."""
    pairs: list[tuple[int, int]] = []
    last = 0
    for low in range(count):
        others = [each for each in dict.fromkeys([last, low - 1, *range(low)]) if 0 <= each < low]
        pairs += [(low, low), *((low, each) for each in others)]
        last = others[-1] if others else 0
    return pairs


def _segments_within(run: Run, lists: UpwardLists, most: int | None) -> _Segments | None:
    workspace, words = run.workspace, _WordsBefore(lists)
    longest = run.graph.context.info.max_allocation_bytes
    size = segment_size(words[len(words) - 1], workspace.available, longest)
    size = max(1, size if most is None else min(most, size))
    bounds = _bounds(words, size - 1)
    if bounds is None:
        return None
    places = min(_PLACES, len(bounds) - 1)
    array = workspace.allocate(max(1, places * size), np.uint32, "segments")
    return _Segments(run, lists, bounds, array, size, places)


class _WordsBefore:
    """Words of the lists before each node and of their starts, and of all nodes that have lists.

    They ascend. An array of them would take longer to make than all else the host does.
    """

    def __init__(self, lists: UpwardLists) -> None:
        self._starts = lists.starts[::2]
        # The last nodes have no lists.
        self._nodes = int(np.searchsorted(self._starts, self._starts[-1], side="left"))

    def __len__(self) -> int:
        return self._nodes + 1

    def __getitem__(self, node: int) -> int:
        return int(self._starts[node]) + _STARTS * node


def segment_size(total: int, free: int, longest: int | None = None) -> int:
    """Number of words of a segment.

    Args:
        total: Words of all lists and of their starts.
        free: Free bytes of the device.
        longest: Maximum bytes of an array; None for no bound.
    """
    size = int(free * _SHARE)
    room = (size if longest is None else min(size, longest)) // 4
    return total + 1 if total < room else max(1, room // _PLACES)


def sent_segments(count: int) -> int:
    """Number of segments sent for all pairs, each counted as often as it is sent.

    In the order of `_pairs`, each pair of two segments needs one that is not in its place, except
    for about one pair per segment.
    """
    return count if count < _PLACES else 2 + (count - 1) * (count - 2) // 2


def _places(
    held: list[int | None], wanted: Collection[int], needed: Collection[int]
) -> Iterator[tuple[int, int]]:
    """Yields places for the segments that are missing, without replacing any that is needed.

    The caller writes each segment into ``held`` before it asks for the next.
    """
    for segment in dict.fromkeys(wanted):
        free = [place for place, each in enumerate(held) if each not in needed]
        if segment not in held and free:
            yield segment, free[0]


def _bounds(words: _WordsBefore, size: int) -> list[int] | None:
    """The first nodes of segments of at most ``size`` words, and the end of the last one.

    None if a node has more words, or if there are too many segments.

    Args:
        words: Words before each node, and in all.
        size: Maximum words of a segment.
    """
    bounds, nodes = [0], len(words) - 1
    while bounds[-1] < nodes:
        last = bisect_right(words, words[bounds[-1]] + size) - 1
        if last <= bounds[-1] or len(bounds) > _MAX_SEGMENTS:
            return None
        bounds.append(last)
    return bounds


class _Segments:
    """The segments of the lists, some of which are on the device."""

    def __init__(
        self,
        run: Run,
        lists: UpwardLists,
        bounds: Sequence[int],
        array: DeviceArray,
        size: int,
        places: int,
    ) -> None:
        self._upward, self._bounds, self.lists = lists, bounds, array
        self._size = size
        self._uploads = run.workspace.uploads()
        self._held: list[int | None] = [None] * places
        self._events: list[list[Any]] = [[] for _ in range(places)]

    @property
    def count(self) -> int:
        return len(self._bounds) - 1

    def acquire(self, wanted: Collection[int], following: Collection[int]) -> None:
        """Makes segments visible to kernels; starts to send those that are wanted next."""
        self._load(wanted, wanted)
        events = [each for number in set(wanted) for each in self._events[self._place(number)]]
        self._load(following, {*wanted, *following})
        self._uploads.wait_on_device(events)

    def nodes(self, segment: int) -> NodeLists:
        """The range of nodes whose lists a loaded segment holds."""
        low, high = self._bounds[segment], self._bounds[segment + 1]
        return NodeLists(low, high, self._place(segment) * self._size)

    def _place(self, segment: int) -> int:
        return self._held.index(segment)

    def _load(self, wanted: Collection[int], needed: Collection[int]) -> None:
        """Starts to send missing segments, without replacing any that is needed."""
        for segment, place in _places(self._held, wanted, needed):
            self._held[place] = segment
            low, high = (_STARTS * each for each in self._bounds[segment : segment + 2])
            starts = self._upward.starts[low : high + 1]
            entries = self._upward.neighbours[int(starts[0]) : int(starts[-1])]
            first = place * self._size
            self._events[place] = [self._uploads.begin(self.lists, first, starts)]
            if len(entries):
                begun = self._uploads.begin(self.lists, first + len(starts), entries)
                self._events[place].append(begun)
