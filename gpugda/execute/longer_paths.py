"""Paths between pairs of nodes in the order of their lengths, until enough were accepted.

For each length in turn all trails are walked depth first, but only where the end can still be
reached in the relationships that are left: memory is bounded, and what is walked again is little,
as most trails have the greatest length.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.entry_windows import entries_of
from gpugda.execute.trails import Level, trails

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency

__all__ = ["distances_to", "paths_by_length"]

_MOST_DISTANCES = 1 << 24
_MOST_ENTRIES = 1 << 22
_FAR = np.iinfo(np.int32).max


def paths_by_length(
    steps: Adjacency,
    backwards: Adjacency,
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    bounds: tuple[int, int | None],
    enough: Callable[[Level], NDArray[np.bool_]],
    check: Callable[[], None],
) -> None:
    """Hands over all trails of each pair, the shorter before the longer.

    Args:
        steps: What a step may take.
        backwards: The same relationships from their other ends.
        starts: First nodes.
        ends: Last nodes, one for each of the first.
        bounds: Fewest and most relationships; None for no bound.
        enough: Takes all paths of one length, piece by piece and an empty one at the end of each
            length (its relationships have the length as width), and tells which pairs need more.
        check: Called often: raises when it is time to give up.
    """
    size = _MOST_DISTANCES // max(len(steps.offsets) - 1, 1)
    size = max(1, min(size, _MOST_ENTRIES // max(len(steps.neighbours), 1)))
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
        waiting = np.flatnonzero(least < _FAR)
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
                # Whoever stands here may go on.
                self.cut[level.rows] = True
            nothing = np.zeros(0, dtype=np.int64)
            width = np.zeros((0, self.length), dtype=np.uint32)
            more = enough(Level(nothing, nothing.astype(np.uint32), width))[self.rows]
            self.cut[least > self.length] = True
            waiting = waiting[more[waiting] & self.cut[waiting]]
            self.length += 1

    def _reaches(self, level: Level) -> NDArray[np.bool_]:
        """Paths whose end can still be reached in what is left of the length."""
        left = self.length - level.relationships.shape[1]
        far = self.far[self.targets[level.rows], level.ends]
        late = (far > left) & (far < _FAR)
        self.cut[level.rows[late]] = True
        near: NDArray[np.bool_] = far <= left
        return near


def distances_to(
    backwards: Adjacency, targets: NDArray[np.uint32], check: Callable[[], None]
) -> NDArray[np.int32]:
    """``int32[targets, n]``: steps from each node to each target; the largest number for none."""
    count = len(backwards.offsets) - 1
    found = np.full(len(targets) * count, _FAR, dtype=np.int32)
    keys = np.arange(len(targets)) * count + targets
    depth = 0
    while len(keys):
        check()
        found[keys] = depth
        depth += 1
        rows, nodes = np.divmod(keys, count)
        places, entries = entries_of(backwards.offsets, nodes)
        next_keys = rows[places] * count + backwards.neighbours[entries]
        keys = np.unique(next_keys[found[next_keys] == _FAR])
    return found.reshape(len(targets), count)
