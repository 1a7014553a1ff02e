"""Breadth-first searches from many nodes at once on the device, and the paths they find."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.device.launch.path_levels import (
    EVERY,
    SEARCHES_A_WORD,
    LongerPaths,
    PathRows,
    StepArrays,
)
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

    Indexes = NDArray[np.int64]
    Words = NDArray[np.uint32]

__all__ = ["Pairs", "PathReader", "PathSearches", "searches_that_fit"]

_MAX_LONGER = 1 << 20
"""Number of paths made together, if one path has a single predecessor."""


@dataclass(slots=True, eq=False)
class _Paths:
    """Paths read back to a level: the pair of each, and its relationships, last one first.

    All are as wide as the longest: columns before the end of a shorter path have no meaning.
    """

    on_device: PathRows
    pairs: Indexes
    walked: Words


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Pairs of a node and a search.

    Args:
        nodes: Nodes to be reached.
        searches: For each pair, the number of its source.
        distances: Distance of pairs that met, 0 for the others.
    """

    nodes: Indexes
    searches: Indexes
    distances: Indexes

    def at(self, distance: int) -> Indexes:
        """Numbers of the pairs with this distance."""
        return np.flatnonzero(self.distances == distance)


class PathReader:
    """Reads paths back along some steps.

    Args:
        run: Owns the arrays.
        steps: The steps by which a search may reach each node.
        every: True to read back all shortest paths, False for one per pair.
    """

    def __init__(self, run: Run, steps: StepArrays, *, every: bool) -> None:
        self._run = run
        self._kernels = run.kernels.paths
        self._every = every
        self._steps = steps

    def rows(self, nodes: Indexes, searches: Indexes) -> PathRows:
        """Paths without a relationship, which end at these nodes."""
        workspace = self._run.workspace
        return PathRows(
            workspace.upload(nodes.astype(np.uint32), "ends of paths"),
            workspace.upload(searches.astype(np.uint32), "searches of paths"),
        )

    def paths(
        self, levels: list[DeviceArray], words: int, pairs: Pairs
    ) -> Iterator[tuple[Indexes, Words]]:
        """Yields the paths of all pairs that met, longest first; depth first to save memory.

        Pairs of a shorter distance join the first window that reaches the level of their ends.
        """
        longest = int(pairs.distances.max(initial=0))
        if not longest:
            return
        joining = [pairs.at(distance) for distance in range(longest + 1)]
        farthest = joining.pop()
        with self._run.locked():
            rows = self.rows(pairs.nodes[farthest], pairs.searches[farthest])
        begun = _Paths(rows, farthest, np.zeros((len(farthest), 0), dtype=np.uint32))
        stack = [iter((begun,))]
        while stack:
            paths = next(stack[-1], None)
            if paths is None:
                stack.pop()
                continue
            level = longest - paths.walked.shape[1]
            if level == 0:
                self._release(paths)
                yield from _by_length(paths, pairs.distances)
                continue
            if level < len(joining):
                paths = self._joined(paths, pairs, joining.pop())
            stack.append(self._longer(paths, levels[level - 1], words))

    def _joined(self, paths: _Paths, pairs: Pairs, numbers: Indexes) -> _Paths:
        """Adds the pairs with these numbers, whose paths end at this level."""
        if not len(numbers):
            return paths
        with self._run.locked():
            rows = self.rows(pairs.nodes[numbers], pairs.searches[numbers])
            before = paths.on_device
            both = PathRows(
                self._stacked(before.nodes, rows.nodes),
                self._stacked(before.searches, rows.searches),
            )
        blank = np.zeros((len(numbers), paths.walked.shape[1]), dtype=np.uint32)
        return _Paths(
            both,
            np.concatenate([paths.pairs, numbers]),
            np.concatenate([paths.walked, blank]),
        )

    def _stacked(self, one: DeviceArray, other: DeviceArray) -> DeviceArray:
        """Concatenates two arrays, and releases both."""
        workspace = self._run.workspace
        made = workspace.allocate(one.count + other.count, np.uint32, "paths")
        for source, place in ((one, 0), (other, one.count)):
            if source.count:
                workspace.copy_part(source, 0, made, place, source.count)
        workspace.release(one, other)
        return made

    def _release(self, paths: _Paths) -> None:
        self._run.workspace.release(paths.on_device.nodes, paths.on_device.searches)

    def _longer(self, paths: _Paths, before: DeviceArray, words: int) -> Iterator[_Paths]:
        """Yields the paths extended by one relationship, in windows."""
        workspace, most = self._run.workspace, EVERY if self._every else 1
        for longer in self.steps_back(paths.on_device, before, words, most):
            with self._run.locked():
                taken = workspace.download(longer.taken)
                workspace.release(longer.taken)
            of = longer.parents
            walked = np.concatenate([paths.walked[of], taken[:, None]], axis=1)
            yield _Paths(longer.rows, paths.pairs[of], walked)
        self._release(paths)

    def steps_back(
        self, rows: PathRows, before: DeviceArray, words: int, most: int
    ) -> Iterator[LongerPaths]:
        """Yields paths extended to the previous level, at most ``most`` per row, in windows."""
        workspace = self._run.workspace
        with self._run.locked():
            self._run.check_deadline()
            counts = workspace.allocate(rows.nodes.count, np.uint32, "steps of paths")
            self._kernels.count_back(self._steps, before, words, rows, counts, most)
            sums = self._run.kernels.prefix_sum.run(workspace, counts, 0, rows.nodes.count)
            ends = workspace.download(sums).astype(np.int64)
        first = 0
        while first < rows.nodes.count:
            last = int(np.searchsorted(ends, ends[first] + _MAX_LONGER, side="right")) - 1
            last = min(max(last, first + 1), rows.nodes.count)
            with self._run.locked():
                self._run.check_deadline()
                parents = np.repeat(np.arange(first, last), np.diff(ends[first : last + 1]))
                longer = self._place(parents)
                window = first, last
                self._kernels.write_back(self._steps, before, words, rows, window, sums, longer)
            yield longer
            first = last
        workspace.release(counts, sums)

    def _place(self, parents: Indexes) -> LongerPaths:
        names = ("ends of paths", "searches of paths", "relationships of paths")
        nodes, searches, taken = (
            self._run.workspace.allocate(len(parents), np.uint32, name) for name in names
        )
        return LongerPaths(PathRows(nodes, searches), parents, taken)


def _by_length(paths: _Paths, distances: Indexes) -> Iterator[tuple[Indexes, Words]]:
    """Yields complete paths grouped by length, the shortest first."""
    lengths, longest = distances[paths.pairs], paths.walked.shape[1]
    for length in unique_values(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        yield paths.pairs[rows], paths.walked[rows, longest - length :]


_LEVELS = 16
"""Number of levels that must fit in memory; deeper searches may run out of it."""
_SHARE_FOR_LEVELS = 0.5
_LOOKS = 1 << 27
"""Words that one launch reads; the deadline is checked between launches."""


def searches_that_fit(run: Run, steps: Adjacency, most: int) -> int:
    """Number of nodes that can be searched from together; 0 if there is no room."""
    entries = 8 * len(steps.neighbours) + 4 * len(steps.offsets)
    room = (run.workspace.available - entries) * _SHARE_FOR_LEVELS
    words = int(room / (4 * _LEVELS * max(len(steps.offsets), 1)))
    return min(words * SEARCHES_A_WORD, most)


class PathSearches:
    """Searches along some steps.

    Args:
        run: Owns the arrays.
        steps: The steps by which a search may reach each node; fewer than 2**32.
        every: True to read back all shortest paths, False for one per pair.

    Attributes:
        reader: Reads back the paths that are found.
    """

    def __init__(self, run: Run, steps: Adjacency, *, every: bool) -> None:
        self._run = run
        self._kernels = run.kernels.paths
        self._nodes = steps.node_count
        self._offsets = steps.offsets
        with run.locked():
            self._steps = StepArrays(
                run.workspace.upload(steps.offsets.astype(np.uint32), "steps of paths"),
                run.workspace.upload(steps.neighbours, "steps of paths"),
                run.workspace.upload(steps.relationships, "steps of paths"),
            )
            self.reader = PathReader(run, self._steps, every=every)
            self._grown = run.workspace.allocate(1, np.uint32, "whether a level has nodes")

    def shortest(
        self, sources: Words, searches: Indexes, nodes: Indexes, maximum: int | None
    ) -> Generator[tuple[Indexes, Words], None, Indexes]:
        """Yields pair numbers with their shortest paths, last step first, grouped by length.

        Returns the pairs whose search did not complete because no further level fits in memory.

        Args:
            sources: Distinct nodes where searches start.
            searches: For each pair, the number of its source.
            nodes: For each pair, the node to be reached; not its source.
            maximum: Maximum number of relationships, None for no bound.
        """
        words = self.words_of(sources)
        pairs = Pairs(nodes, searches, np.zeros(len(nodes), dtype=np.int64))
        with self._searching(sources, words, seen=True) as (levels, seen):
            is_ended = self._meet(levels, seen, words, pairs, maximum, keeps_levels=True)
            yield from self.reader.paths(levels, words, pairs)
        return pairs.at(0)[: 0 if is_ended else None]

    def distances(
        self, sources: Words, searches: Indexes, nodes: Indexes, maximum: int | None
    ) -> tuple[Indexes, Indexes]:
        """Lengths of the shortest walks of at least one step, 0 for none; and the pairs left.

        The arguments are those of `shortest`; here a pair's node may be its source.
        """
        words = self.words_of(sources)
        pairs = Pairs(nodes, searches, np.zeros(len(nodes), dtype=np.int64))
        with self._searching(sources, words, seen=False) as (levels, seen):
            is_ended = self._meet(levels, seen, words, pairs, maximum, keeps_levels=False)
        return pairs.distances, pairs.at(0)[: 0 if is_ended else None]

    def _meet(
        self,
        levels: list[DeviceArray],
        seen: DeviceArray,
        words: int,
        pairs: Pairs,
        maximum: int | None,
        *,
        keeps_levels: bool,
    ) -> bool:
        """Writes the distances of pairs; False if there is no room for a further level."""
        workspace = self._run.workspace
        with self._run.locked():
            rows = self.reader.rows(pairs.nodes, pairs.searches)
            met = workspace.allocate(len(pairs.nodes), np.uint32, "pairs that met")
        is_ended, waiting, depth = True, len(pairs.nodes), 0
        while waiting and (maximum is None or depth < maximum):
            with self._run.locked():
                try:
                    if not self._grow(levels, seen, words):
                        break
                except MemoryLimitError:
                    is_ended = False
                    break
                self._kernels.met(levels[-1], words, rows, met)
                found = np.flatnonzero(workspace.download(met))
                if not keeps_levels:
                    workspace.release(levels.pop(0))
            depth += 1
            pairs.distances[found] = depth
            waiting -= len(found)
        workspace.release(rows.nodes, rows.searches, met)
        return is_ended

    def reached(
        self, sources: Words, maximum: int | None, *, with_start: bool
    ) -> tuple[Indexes, Words]:
        """Numbers of sources and the nodes that they reach, each pair once.

        A source reaches itself if ``with_start``, or if a walk leads back to it.
        """
        words = self.words_of(sources)
        with self._searching(sources, words, seen=with_start) as (levels, seen):
            steps = 0
            while maximum is None or steps < maximum:
                with self._run.locked():
                    if not self._grow(levels, seen, words):
                        break
                self._run.workspace.release(levels.pop(0))
                steps += 1
            with self._run.locked():
                bits = self._run.workspace.download(seen)
        found = np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_)
        # Bits beyond the last search are never set.
        places, width = np.flatnonzero(found), words * SEARCHES_A_WORD
        nodes = places // width
        return places - nodes * width, nodes.astype(np.uint32)

    @contextmanager
    def _searching(
        self, sources: Words, words: int, *, seen: bool
    ) -> Iterator[tuple[list[DeviceArray], DeviceArray]]:
        """Yields the first level and the nodes reached; releases the arrays at the end."""
        workspace = self._run.workspace
        levels: list[DeviceArray] = []
        with self._run.locked():
            begun, reached = (self._level(words) for _ in range(2))
            for each in (begun, reached):
                workspace.fill(each, 0)
            begins = workspace.upload(sources, "nodes that are searched from")
            self._kernels.begin(begins, words, begun)
            if seen:
                self._kernels.begin(begins, words, reached)
        levels.append(begun)
        try:
            yield levels, reached
        finally:
            workspace.release(begins, reached, *levels)

    def words_of(self, sources: Words) -> int:
        """Words per node for this many searches."""
        return max(1, -(-len(sources) // SEARCHES_A_WORD))

    def _level(self, words: int) -> DeviceArray:
        size = max(1, self._nodes * words)
        return self._run.workspace.allocate(size, np.uint32, "a level of searches")

    def _grow(self, levels: list[DeviceArray], seen: DeviceArray, words: int) -> bool:
        """Adds a level. Returns False, without a level, if nothing more is reached."""
        workspace = self._run.workspace
        fresh = self._level(words)
        workspace.fill(self._grown, 0)
        for nodes in self._windows(words):
            self._run.check_deadline()
            grown = levels[-1], seen, fresh
            self._kernels.grow(self._steps, nodes, words, grown, self._grown)
        if not int(workspace.download(self._grown)[0]):
            workspace.release(fresh)
            return False
        levels.append(fresh)
        return True

    def _windows(self, words: int) -> Iterator[tuple[int, int]]:
        """Yields the range of nodes of each launch."""
        first = 0
        while first < self._nodes:
            end = self._offsets[first] + _LOOKS // words
            last = int(np.searchsorted(self._offsets, end, side="right")) - 1
            last = min(max(last, first + 1), self._nodes)
            yield first, last
            first = last

    def _met(
        self, level: DeviceArray, words: int, nodes: Indexes, searches: Indexes
    ) -> NDArray[np.bool_]:
        workspace = self._run.workspace
        rows = self.reader.rows(nodes, searches)
        met = workspace.allocate(len(nodes), np.uint32, "pairs that met")
        self._kernels.met(level, words, rows, met)
        found: NDArray[np.bool_] = workspace.download(met) > 0
        workspace.release(rows.nodes, rows.searches, met)
        return found
