"""Paths between pairs of nodes in order of length, until enough are accepted.

For each length in turn, all trails are enumerated depth first, pruned where the remaining
relationships cannot reach the end. Memory stays bounded; the repeated work is small, since most
trails have the greatest length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.paths.frontier import Frontier, new_depths
from gpugda.execute.paths.trails import Level, trails

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency

__all__ = ["distances_to", "paths_by_length"]

_MAX_DISTANCES = 1 << 24
_MAX_ENTRIES = 1 << 22
_UNREACHABLE = np.iinfo(np.int32).max


def paths_by_length(
    steps: Adjacency,
    backwards: Adjacency,
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    bounds: tuple[int, int | None],
    enough: Callable[[Level], NDArray[np.bool_]],
    check: Callable[[], None],
) -> None:
    """Passes all trails of each pair to ``enough``, shorter ones first.

    Args:
        steps: Adjacency that a step follows.
        backwards: The same relationships, reversed.
        starts: First nodes.
        ends: Last nodes, one per first node.
        bounds: Fewest and most relationships; None for no bound.
        enough: Receives all paths of one length, in batches, and an empty batch (whose width is
            the length) at the end of each length; returns a mask of the pairs that need more.
        check: Called often; raises when the deadline has passed.
    """
    size = _MAX_DISTANCES // max(len(steps.offsets) - 1, 1)
    size = max(1, min(size, _MAX_ENTRIES // max(len(steps.neighbours), 1)))
    targets, target_of = np.unique(ends, return_inverse=True)
    for first in range(0, len(targets), size):
        chunk = targets[first : first + size]
        rows = np.flatnonzero((target_of >= first) & (target_of < first + len(chunk)))
        far = distances_to(backwards, chunk, check)
        search = _Search(steps, far, target_of[rows] - first, rows, starts[rows], ends[rows])
        search.run(bounds, enough, check)


class _Search:
    def __init__(
        self,
        steps: Adjacency,
        far: NDArray[np.int32],
        targets: NDArray[np.int64],
        rows: NDArray[np.int64],
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
    ) -> None:
        self.steps = steps
        self.far = far
        self.targets = targets
        self.rows = rows
        self.starts = starts
        self.ends = ends
        self.length = 0
        self.cut = np.zeros(len(rows), dtype=np.bool_)

    def run(
        self,
        bounds: tuple[int, int | None],
        enough: Callable[[Level], NDArray[np.bool_]],
        check: Callable[[], None],
    ) -> None:
        least = self.far[self.targets, self.starts]
        waiting = np.flatnonzero(least < _UNREACHABLE)
        minimum, maximum = bounds
        while len(waiting):
            nearest = int(least[waiting].min())
            self.length = max(minimum, nearest, self.length)
            if maximum is not None and self.length > maximum:
                return
            self.cut[:] = False
            now = waiting[least[waiting] <= self.length]
            for level in trails(
                self.steps,
                now,
                self.starts[now],
                self.length,
                self.length,
                check,
                keeps=self._reaches,
            ):
                reached = np.flatnonzero(level.ends == self.ends[level.rows])
                rows = self.rows[level.rows[reached]]
                enough(Level(rows, level.ends[reached], level.relationships[reached]))
                # A path that ends here may be extended.
                self.cut[level.rows] = True
            nothing = np.zeros(0, dtype=np.int64)
            width = np.zeros((0, self.length), dtype=np.uint32)
            more = enough(Level(nothing, nothing.astype(np.uint32), width))[self.rows]
            self.cut[least > self.length] = True
            waiting = waiting[more[waiting] & self.cut[waiting]]
            self.length += 1

    def _reaches(self, level: Level) -> NDArray[np.bool_]:
        """True for paths that can still reach the end within the remaining length."""
        left = self.length - level.relationships.shape[1]
        far = self.far[self.targets[level.rows], level.ends]
        late = (far > left) & (far < _UNREACHABLE)
        self.cut[level.rows[late]] = True
        near: NDArray[np.bool_] = far <= left
        return near


def distances_to(
    backwards: Adjacency, targets: NDArray[np.uint32], check: Callable[[], None]
) -> NDArray[np.int32]:
    """``int32[targets, n]``: distance from each node to each target, or ``_UNREACHABLE``."""
    count = backwards.node_count
    depths = new_depths(len(targets), count)
    search = Frontier(backwards, targets, depths)
    while len(search.keys):
        search.grow(check)
    return np.where(depths < 0, _UNREACHABLE, depths).reshape(len(targets), count)
