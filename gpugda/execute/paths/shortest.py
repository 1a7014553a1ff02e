"""Shortest paths between pairs of nodes, by bidirectional breadth-first search on the host.

Pairs that share ends are searched together, see `shared_searches`. The others advance level by
level, all pairs of a chunk at once. Two arrays hold a depth per pair and node and serve all
chunks; only touched entries are cleared. Paths are read back from the nodes where the two
searches met; parallel relationships give separate paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.paths.compact import compacted
from gpugda.execute.paths.shared_searches import host_seconds, shared_paths
from gpugda.execute.paths.trails import Level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.paths.device_searches import DeviceSearches

__all__ = ["shortest_paths"]

_MAX_DEPTHS = 1 << 24


def shortest_paths(
    steps: Adjacency,
    backwards: Adjacency,
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    maximum: int | None,
    check: Callable[[], None],
    *,
    every: bool,
    device: DeviceSearches | None = None,
) -> Iterator[Level]:
    """The shortest paths of pairs of distinct nodes; none if no path joins them.

    Args:
        steps: Adjacency that a step follows.
        backwards: The same relationships, reversed.
        starts: First nodes.
        ends: Last nodes, one per first node.
        maximum: Most relationships; None for no bound.
        check: Called often; raises when the deadline has passed.
        every: True for all shortest paths of a pair, False for one.
        device: Device searches, used if they are faster; None for the host only.
    """
    compact = compacted(steps)
    if compact is None:
        yield from _joining(steps, backwards, starts, ends, maximum, check, every, device)
        return
    one, other = compact.numbers[starts], compact.numbers[ends]
    some = np.flatnonzero((one >= 0) & (other >= 0))
    for level in _joining(
        compact.steps,
        compact.renumbered(backwards),
        one[some].astype(np.uint32),
        other[some].astype(np.uint32),
        maximum,
        check,
        every,
        device,
    ):
        rows = some[level.rows]
        yield Level(rows, ends[rows], level.relationships)


def _joining(
    steps: Adjacency,
    backwards: Adjacency,
    starts: NDArray[np.uint32],
    ends: NDArray[np.uint32],
    maximum: int | None,
    check: Callable[[], None],
    every: bool,
    device: DeviceSearches | None,
) -> Iterator[Level]:
    sources = min(len(unique_values(starts)), len(unique_values(ends)))
    seconds = host_seconds(steps, len(starts), sources)
    if device is not None and device.shortest_pay(steps, sources, min(seconds)):
        left = yield from device.paths(steps, backwards, starts, ends, maximum, every=every)
        rest = starts[left], ends[left], maximum, check, every, None
        for level in _joining(steps, backwards, *rest):
            yield Level(left[level.rows], level.ends, level.relationships)
        return
    if seconds.shared < seconds.separate:
        yield from shared_paths(steps, backwards, starts, ends, maximum, check, every=every)
        return
    node_count = len(steps.offsets) - 1
    size = max(1, min(_MAX_DEPTHS // max(node_count, 1), len(starts)))
    depths = tuple(np.full(size * node_count, -1, dtype=np.int32) for _ in range(2))
    for first in range(0, len(starts), size):
        chunk = slice(first, first + size)
        search = _Search(steps, backwards, starts[chunk], ends[chunk], depths, check, every)
        try:
            for level in search.run(maximum):
                yield Level(level.rows + first, level.ends, level.relationships)
        finally:
            search.clear()


class _Side:
    """The search from one end of each pair."""

    def __init__(
        self, steps: Adjacency, nodes: NDArray[np.uint32], depths: NDArray[np.int32]
    ) -> None:
        self.steps = steps
        self.node_count = len(steps.offsets) - 1
        self.degrees = np.diff(steps.offsets)
        self.depths = depths
        self.depth = 0
        self.pairs = np.arange(len(nodes))
        self.nodes = nodes.astype(np.int64)
        self.touched = [self.keys]
        depths[self.keys] = 0

    @property
    def keys(self) -> NDArray[np.int64]:
        """Positions of the newest nodes in the depth array."""
        return self.pairs * self.node_count + self.nodes

    @property
    def work(self) -> int:
        """Number of entries that the next level reads."""
        return int(self.degrees[self.nodes].sum())

    def keep(self, active: NDArray[np.bool_]) -> None:
        """Continues with the active pairs only."""
        kept = active[self.pairs]
        self.pairs, self.nodes = self.pairs[kept], self.nodes[kept]

    def grow(self, check: Callable[[], None]) -> None:
        """Computes the next level: nodes not reached before, each once per pair."""
        self.depth += 1
        found = []
        for first, last in windows_of(self.degrees[self.nodes]):
            check()
            places, entries = entries_of(self.steps.offsets, self.nodes[first:last])
            pairs = self.pairs[first:last][places]
            keys = pairs * self.node_count + self.steps.neighbours[entries]
            keys = keys[self.depths[keys] < 0]
            # Of equal keys, keep the one that wrote last.
            self.depths[keys] = np.arange(len(keys), dtype=np.int32)
            keys = keys[self.depths[keys] == np.arange(len(keys), dtype=np.int32)]
            self.depths[keys] = self.depth
            self.touched.append(keys)
            found.append(keys)
        keys = np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
        self.pairs, self.nodes = np.divmod(keys, self.node_count)

    def clear(self) -> None:
        """Restores the depths."""
        for keys in self.touched:
            self.depths[keys] = -1


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Partial paths: pair, node at which the path grows, and relationships so far."""

    pairs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    relationships: NDArray[np.uint32]


class _Search:
    def __init__(
        self,
        steps: Adjacency,
        backwards: Adjacency,
        starts: NDArray[np.uint32],
        ends: NDArray[np.uint32],
        depths: tuple[NDArray[np.int32], ...],
        check: Callable[[], None],
        every: bool,
    ) -> None:
        self.front = _Side(steps, starts, depths[0])
        self.back = _Side(backwards, ends, depths[1])
        self.ends = ends
        self.active = np.ones(len(starts), dtype=np.bool_)
        self.check = check
        self.every = every

    def run(self, maximum: int | None) -> Iterator[Level]:
        """Yields the paths, shortest first."""
        front, back = self.front, self.back
        while maximum is None or front.depth + back.depth < maximum:
            self._drop_finished()
            if not len(front.nodes):
                return
            one, other = (front, back) if front.work <= back.work else (back, front)
            one.grow(self.check)
            met = np.flatnonzero(other.depths[one.keys] >= 0)
            if not len(met):
                continue
            pairs, nodes = one.pairs[met], one.nodes[met]
            self.active[pairs] = False
            if not self.every:
                pairs, kept = np.unique(pairs, return_index=True)
                nodes = nodes[kept]
            yield from self._paths(pairs, nodes)

    def clear(self) -> None:
        """Restores the depths."""
        self.front.clear()
        self.back.clear()

    def _drop_finished(self) -> None:
        """Finishes pairs that have met or whose search reaches nothing new on one side."""
        count = len(self.active)
        for side in (self.front, self.back):
            self.active &= np.bincount(side.pairs, minlength=count) > 0
        self.front.keep(self.active)
        self.back.keep(self.active)

    def _paths(self, pairs: NDArray[np.int64], nodes: NDArray[np.int64]) -> Iterator[Level]:
        nothing = np.zeros((len(pairs), 0), dtype=np.uint32)
        meeting = np.arange(len(pairs))
        begun = _Walk(meeting, nodes, nothing)
        # Forward paths are read from the meeting node back, so they are reversed.
        for left in self._back_to(self.front, self.back.steps, begun, pairs):
            rights = _Walk(np.arange(len(left.pairs)), nodes[left.pairs], nothing[left.pairs])
            for right in self._back_to(self.back, self.front.steps, rights, pairs[left.pairs]):
                walked = left.relationships[right.pairs][:, ::-1]
                whole = np.concatenate([walked, right.relationships], axis=1)
                rows = pairs[left.pairs[right.pairs]]
                yield Level(rows, self.ends[rows], whole)

    def _back_to(
        self, side: _Side, steps: Adjacency, begun: _Walk, pairs: NDArray[np.int64]
    ) -> Iterator[_Walk]:
        """Paths from the meeting nodes to one side's ends; ``pairs`` indexes rows of ``begun``."""
        degrees = np.diff(steps.offsets)
        # Windows wait as bounds; their paths are computed when their turn comes.
        stack = [(begun, *bounds) for bounds in windows_of(degrees[begun.nodes])][::-1]
        if side.depth == 0:
            yield begun
            return
        while stack:
            self.check()
            walk, first, last = stack.pop()
            left = side.depth - walk.relationships.shape[1] - 1
            longer = self._longer(side, steps, walk, first, last, pairs, left)
            if not len(longer.pairs):
                continue
            if left == 0:
                yield longer
                continue
            windows = list(windows_of(degrees[longer.nodes]))
            stack.extend((longer, *bounds) for bounds in reversed(windows))

    def _longer(
        self,
        side: _Side,
        steps: Adjacency,
        walk: _Walk,
        first: int,
        last: int,
        pairs: NDArray[np.int64],
        depth: int,
    ) -> _Walk:
        places, entries = entries_of(steps.offsets, walk.nodes[first:last])
        places = places + first
        neighbours = steps.neighbours[entries].astype(np.int64)
        keys = pairs[walk.pairs[places]] * side.node_count + neighbours
        kept = np.flatnonzero(side.depths[keys] == depth)
        if not self.every and len(kept):
            begins = np.ones(len(kept), dtype=np.bool_)
            begins[1:] = places[kept][1:] != places[kept][:-1]
            kept = kept[begins]
        places, entries = places[kept], entries[kept]
        taken = steps.relationships[entries]
        longer = np.concatenate([walk.relationships[places], taken[:, None]], axis=1)
        return _Walk(walk.pairs[places], neighbours[kept], longer)
