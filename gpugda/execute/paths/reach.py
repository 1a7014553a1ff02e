"""Nodes that trails reach, each once, by breadth-first search over nodes instead of paths.

If a walk reaches a node, so does a path without repeated nodes, which is a trail of no greater
length. Only the start node needs care: a walk may return by the relationship it left by, a trail
may not. So each node keeps the first relationship of its path from the start; a step that joins
paths with different first relationships closes a trail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.paths.compact import compacted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.paths.device_searches import DeviceSearches

__all__ = ["reached"]

_MAX_KEYS = 1 << 24


def reached(
    steps: Adjacency,
    starts: NDArray[np.uint32],
    maximum: int | None,
    check: Callable[[], None],
    *,
    undirected: bool,
    with_start: bool,
    device: DeviceSearches | None = None,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
    """Yields pairs of a start's number and a node that a trail from it reaches, each pair once.

    Args:
        steps: Adjacency that a step follows.
        starts: Start nodes.
        maximum: Most relationships; None for no bound.
        check: Called often; raises when the deadline has passed.
        undirected: True if a step can also be walked back.
        with_start: True if the empty path reaches the start; otherwise only a closed trail does.
        device: Device searches, used if they are faster; None for the host only.
    """
    compact = compacted(steps)
    on_device = device if compact is None else None
    if on_device is not None and on_device.reach_pays(steps, len(starts), maximum):
        back = on_device.backwards()
        if with_start or not undirected:
            yield from on_device.reached(starts, back, maximum, with_start=with_start)
            return
        # On the device, a walk that returns by its first relationship would count as closed.
        for rows, nodes in on_device.reached(starts, back, maximum, with_start=True):
            others = starts[rows] != nodes
            yield rows[others], nodes[others]
        rows = _closed(steps, starts, maximum, check)
        yield rows, starts[rows]
        return
    if compact is None:
        yield from _reached(steps, starts, maximum, check, undirected, with_start)
        return
    numbers = compact.numbers[starts]
    some = np.flatnonzero(numbers >= 0)
    if with_start:
        alone = np.flatnonzero(numbers < 0)
        yield alone, starts[alone]
    begun = numbers[some].astype(np.uint32)
    for rows, found in _reached(compact.steps, begun, maximum, check, undirected, with_start):
        yield some[rows], compact.nodes[found].astype(np.uint32)


def _reached(
    steps: Adjacency,
    starts: NDArray[np.uint32],
    maximum: int | None,
    check: Callable[[], None],
    undirected: bool,
    with_start: bool,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
    node_count = max(len(steps.offsets) - 1, 1)
    size = max(1, min(_MAX_KEYS // node_count, len(starts)))
    depths = np.full(size * node_count, -1, dtype=np.int32)
    labels = np.zeros(size * node_count if undirected else 0, dtype=np.int64)
    for first in range(0, len(starts), size):
        search = _Search(steps, starts[first : first + size], depths, labels, maximum)
        for rows, nodes in search.run(check, with_start=with_start):
            yield rows + first, nodes


def _closed(
    steps: Adjacency,
    starts: NDArray[np.uint32],
    maximum: int | None,
    check: Callable[[], None],
) -> NDArray[np.int64]:
    """Numbers of the starts on an undirected closed trail."""
    node_count = max(steps.node_count, 1)
    size = max(1, min(_MAX_KEYS // node_count, len(starts)))
    depths = np.full(size * node_count, -1, dtype=np.int32)
    labels = np.zeros(size * node_count, dtype=np.int64)
    found = [np.zeros(0, dtype=np.int64)]
    for first in range(0, len(starts), size):
        search = _Search(steps, starts[first : first + size], depths, labels, maximum)
        found.append(search.closed_starts(check) + first)
    return np.concatenate(found)


class _Search:
    """A search from several starts; a key is start number * node count + node."""

    def __init__(
        self,
        steps: Adjacency,
        starts: NDArray[np.uint32],
        depths: NDArray[np.int32],
        labels: NDArray[np.int64],
        maximum: int | None,
    ) -> None:
        self.steps = steps
        self.starts = starts.astype(np.int64)
        self.node_count = len(steps.offsets) - 1
        self.degrees = np.diff(steps.offsets)
        self.depths = depths
        self.labels = labels
        self.maximum = maximum
        self.closed = np.zeros(len(starts), dtype=np.bool_)

    def run(
        self, check: Callable[[], None], *, with_start: bool
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32]]]:
        """Yields the pairs; restores the depths afterwards."""
        keys = np.arange(len(self.starts)) * self.node_count + self.starts
        touched = [keys]
        self.depths[keys] = depth = 0
        try:
            while len(keys) and (self.maximum is None or depth < self.maximum):
                keys = self._grow(keys, depth, check)
                depth += 1
                touched.append(keys)
                yield self._pairs(keys)
            rows = np.arange(len(self.starts)) if with_start else np.flatnonzero(self.closed)
            yield rows, self.starts[rows].astype(np.uint32)
        finally:
            for some in touched:
                self.depths[some] = -1

    def closed_starts(self, check: Callable[[], None]) -> NDArray[np.int64]:
        """Numbers of starts with closed trails; a start is dropped once its trail is found."""
        keys = np.arange(len(self.starts)) * self.node_count + self.starts
        touched = [keys]
        self.depths[keys] = depth = 0
        try:
            # The two halves of a trail meet in the middle.
            while len(keys) and (self.maximum is None or 2 * depth < self.maximum):
                keys = self._grow(keys, depth, check)
                depth += 1
                touched.append(keys)
                keys = keys[~self.closed[keys // self.node_count]]
            return np.flatnonzero(self.closed)
        finally:
            for some in touched:
                self.depths[some] = -1

    def _pairs(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        rows, nodes = np.divmod(keys, self.node_count)
        return rows, nodes.astype(np.uint32)

    def _grow(
        self, keys: NDArray[np.int64], depth: int, check: Callable[[], None]
    ) -> NDArray[np.int64]:
        found = [keys[:0]]
        rows, nodes = np.divmod(keys, self.node_count)
        for first, last in windows_of(self.degrees[nodes]):
            check()
            places, entries = entries_of(self.steps.offsets, nodes[first:last])
            places = places + first
            there = rows[places] * self.node_count + self.steps.neighbours[entries].astype(np.int64)
            fresh = np.flatnonzero(self.depths[there] < 0)
            # Of equal keys, keep the one that wrote last.
            self.depths[there[fresh]] = fresh
            fresh = fresh[self.depths[there[fresh]] == fresh]
            self.depths[there[fresh]] = depth + 1
            found.append(there[fresh])
            if len(self.labels):
                labels = self._labels_of(keys[places], entries, depth)
                self.labels[there[fresh]] = labels[fresh]
                self._close_undirected(rows[places], there, labels, entries, depth)
            else:
                back = self.steps.neighbours[entries] == self.starts[rows[places]]
                self.closed[rows[places[back]]] = True
        return np.concatenate(found)

    def _labels_of(
        self, keys: NDArray[np.int64], entries: NDArray[np.int64], depth: int
    ) -> NDArray[np.int64]:
        """The first relationship of the path that each step extends."""
        if depth == 0:
            return self.steps.relationships[entries].astype(np.int64)
        return self.labels[keys]

    def _close_undirected(
        self,
        rows: NDArray[np.int64],
        there: NDArray[np.int64],
        labels: NDArray[np.int64],
        entries: NDArray[np.int64],
        depth: int,
    ) -> None:
        """Marks starts whose steps join paths with different first relationships."""
        home = self.steps.neighbours[entries] == self.starts[rows]
        other = np.where(home, self.steps.relationships[entries], self.labels[there])
        closing = other != labels
        if depth == 0:
            closing |= home  # a loop
        if self.maximum is not None:
            closing &= depth + 1 + self.depths[there] <= self.maximum
        self.closed[rows[closing]] = True
