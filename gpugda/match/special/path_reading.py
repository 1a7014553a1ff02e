"""Reads paths back through the levels of searches, from the nodes that were reached."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.unique_values import unique_values
from gpugda.device.launch.path_levels import EVERY, LongerPaths, PathRows, StepArrays

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

    Indexes = NDArray[np.int64]
    Words = NDArray[np.uint32]

__all__ = ["Pairs", "PathReader"]

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
