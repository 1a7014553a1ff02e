"""Nodes that trails reach, each once, by breadth-first search over nodes instead of paths.

If a walk reaches a node, so does a path without repeated nodes, which is a trail of no greater
length. Only the start node needs care: a walk may return by the relationship it left by, a trail
may not. So each node keeps the first relationship of its path from the start; a step that joins
paths with different first relationships closes a trail.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.entry_windows import entries_of
from gpugda.execute.paths.compact import compacted
from gpugda.execute.paths.frontier import Frontier, shared_depths
from gpugda.execute.paths.shortest import distances

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.paths.device_searches import DeviceSearches

    Indexes = NDArray[np.int64]
    Nodes = NDArray[np.uint32]

__all__ = ["Reach"]


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Which nodes trails lead to.

    Args:
        steps: Adjacency that a step follows.
        backwards: Returns the same relationships, reversed.
        maximum: Most relationships; None for no bound.
        check: Called often; raises when the deadline has passed.
        undirected: True if a step can also be walked back.
        with_start: True if the empty path reaches the start; otherwise only a closed trail does.
        device: Device searches, used if they are faster; None for the host only.
        symmetric: False if a step can be taken that cannot be walked back.
    """

    steps: Adjacency
    backwards: Callable[[], Adjacency]
    maximum: int | None
    check: Callable[[], None]
    undirected: bool
    with_start: bool
    device: DeviceSearches | None = None
    symmetric: bool = True

    def ends(self, starts: Nodes) -> Iterator[tuple[Indexes, Nodes]]:
        """Yields pairs of a start's number and a node that a trail from it reaches, each once."""
        steps, compact = self.steps, compacted(self.steps)
        if compact is not None:
            numbers = compact.numbers[starts]
            some = np.flatnonzero(numbers >= 0)
            if self.with_start:
                alone = np.flatnonzero(numbers < 0)
                yield alone, starts[alone]
            for rows, found in self._on_host(compact.steps, numbers[some].astype(np.uint32)):
                yield some[rows], compact.nodes[found].astype(np.uint32)
            return
        if not self._on_device(len(starts)):
            yield from self._on_host(steps, starts)
            return
        assert self.device is not None
        # On the device, a walk that returns by its first relationship would count as closed.
        apart = self.undirected and not self.with_start
        given = starts, self.backwards(), self.maximum
        for rows, nodes in self.device.reached(*given, with_start=self.with_start or apart):
            others = starts[rows] != nodes if apart else slice(None)
            yield rows[others], nodes[others]
        if apart:
            rows = np.flatnonzero(self._are_closed(starts))
            yield rows, starts[rows]

    def joined(self, starts: Nodes, ends: Nodes) -> NDArray[np.bool_]:
        """For each pair of nodes, True if a trail leads from the first to the second."""
        same = starts == ends
        found = np.zeros(len(starts), dtype=np.bool_)
        if self.with_start:
            found[same] = True
        elif same.any():
            some, some_of = np.unique(starts[same], return_inverse=True)
            found[same] = self._are_closed(some)[some_of]
        apart = np.flatnonzero(~same)
        if len(apart):
            given = self.steps, self.backwards(), starts[apart], ends[apart]
            lengths = distances(*given, self.maximum, self.check, self.device)
            found[apart] = lengths > 0
        return found

    def _on_device(self, starts: int) -> bool:
        device = self.device
        return device is not None and device.reach_pays(self.steps, starts, self.maximum)

    def _on_host(self, steps: Adjacency, starts: Nodes) -> Iterator[tuple[Indexes, Nodes]]:
        for first, search in self._searches(steps, starts):
            for _ in search.levels(self.check, self._most):
                yield search.searches + first, search.nodes.astype(np.uint32)
            closed = search.closed
            if not (self.with_start or self._halves_meet):
                closed = self._close_by_first(steps, starts[first : first + len(closed)])
            places = np.flatnonzero(closed | self.with_start) + first
            yield places, starts[places]

    @property
    def _most(self) -> float:
        return math.inf if self.maximum is None else self.maximum

    @property
    def _halves_meet(self) -> bool:
        """True if two ways from a start that meet are a closed trail, as one of them can return."""
        return not self.undirected or self.symmetric

    def _close_by_first(self, steps: Adjacency, starts: Nodes) -> NDArray[np.bool_]:
        """True for each start with a closed trail, searched from each first relationship."""
        found = np.zeros(len(starts), dtype=np.bool_)
        numbers, entries = entries_of(steps.offsets, starts.astype(np.int64))
        nodes, firsts = steps.neighbours[entries], steps.relationships[entries]
        homes = starts[numbers]
        found[numbers[nodes == homes]] = True  # loops
        depths, chunks = shared_depths(steps, len(numbers))
        for chunk in chunks:
            with _Returning(steps, nodes[chunk], depths, homes[chunk], firsts[chunk]) as search:
                for _ in search.levels(self.check, self._most - 1):
                    search.keep(~search.closed)
            found[numbers[chunk][search.closed]] = True
        return found

    def _are_closed(self, starts: Nodes) -> NDArray[np.bool_]:
        """True for each start to which a closed trail leads back."""
        found = np.zeros(len(starts), dtype=np.bool_)
        if not self.undirected and self._on_device(len(starts)):
            assert self.device is not None
            lengths, left = self.device.distances(
                self.steps, self.backwards(), starts, starts, self.maximum
            )
            found = lengths > 0
            if not len(left):
                return found
        if not self._halves_meet:
            return self._close_by_first(self.steps, starts)
        # The two halves of an undirected trail meet in the middle.
        halves = 2 if self.undirected else 1
        for first, search in self._searches(self.steps, starts):
            for _ in search.levels(self.check, self._most / halves):
                search.keep(~search.closed)
            found[first : first + len(search.closed)] = search.closed
        return found

    def _searches(self, steps: Adjacency, starts: Nodes) -> Iterator[tuple[int, _Closing]]:
        """Yields searches from as many starts as fit, and the number of the first one."""
        depths, chunks = shared_depths(steps, len(starts))
        labels = np.zeros(len(depths) if self.undirected else 0, dtype=np.int64)
        for chunk in chunks:
            with _Closing(steps, starts[chunk], depths, labels, self.maximum) as search:
                yield chunk.start, search


class _Closing(Frontier):
    """Searches that note to which of their starts a trail leads back."""

    def __init__(
        self,
        steps: Adjacency,
        starts: Nodes,
        depths: NDArray[np.int32],
        labels: Indexes,
        maximum: int | None,
    ) -> None:
        super().__init__(steps, starts, depths)
        self.starts = starts.astype(np.int64)
        self.labels = labels
        self.maximum = maximum
        self.closed = np.zeros(len(starts), dtype=np.bool_)

    def _stepped(self, keys: Indexes, entries: Indexes, there: Indexes, fresh: Indexes) -> None:
        rows, taken = keys // self.node_count, self.steps.relationships[entries].astype(np.int64)
        home = self.steps.neighbours[entries] == self.starts[rows]
        if not len(self.labels):
            self.closed[rows[home]] = True
            return
        # The first relationship of the path that each step extends.
        labels = self.labels[keys] if self.depth else taken
        self.labels[there[fresh]] = labels[fresh]
        closing = np.where(home, taken, self.labels[there]) != labels
        if self.depth == 0:
            closing |= home  # a loop
        if self.maximum is not None:
            closing &= self.depth + 1 + self.depths[there] <= self.maximum
        self.closed[rows[closing]] = True


class _Returning(Frontier):
    """Searches that follow a first relationship, and note whether another one leads home."""

    def __init__(
        self,
        steps: Adjacency,
        nodes: Nodes,
        depths: NDArray[np.int32],
        homes: Nodes,
        firsts: NDArray[np.uint32],
    ) -> None:
        super().__init__(steps, nodes, depths)
        self.homes, self.firsts = homes.astype(np.int64), firsts
        self.closed = np.zeros(len(nodes), dtype=np.bool_)
        keys = np.arange(len(nodes)) * self.node_count + self.homes
        depths[keys] = 0  # a trail that closes passes its first node at its ends alone
        self._touched.append(keys)

    def _stepped(self, keys: Indexes, entries: Indexes, there: Indexes, fresh: Indexes) -> None:
        searches = keys // self.node_count
        home = self.steps.neighbours[entries] == self.homes[searches]
        home &= self.steps.relationships[entries] != self.firsts[searches]
        self.closed[searches[home]] = True
