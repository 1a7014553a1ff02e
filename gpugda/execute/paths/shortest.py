"""Shortest paths between many pairs of nodes, and their lengths.

The device searches from one node of all pairs at once. On the host, pairs are searched from both
ends, in chunks: one growth step extends the shallower side of all pairs of a chunk. Two arrays
hold a depth per pair and node and serve all chunks; only touched entries are cleared. Paths are
read back from the nodes where the two searches met; parallel relationships give separate paths.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.paths.compact import compacted
from gpugda.execute.paths.distinct_pairs import Sources
from gpugda.execute.paths.frontier import SECONDS_PER_ENTRY, Frontier, shared_depths
from gpugda.execute.paths.trails import Level, renumbered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.execute.paths.device_searches import DeviceSearches

    Indexes = NDArray[np.int64]
    Nodes = NDArray[np.uint32]

__all__ = ["Pairs", "compact_pairs", "distances", "shortest_paths"]

_SECONDS_PER_PAIR: Final = 3e-6
"""Measured."""


def _host_seconds(steps: Adjacency, pairs: int) -> float:
    """Expected host seconds of searches from both nodes of each pair."""
    entries: float = 3 * len(steps.neighbours) ** 0.5
    return pairs * (_SECONDS_PER_PAIR + entries * SECONDS_PER_ENTRY)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of distinct nodes that a search may join.

    Args:
        steps: Adjacency that a step follows.
        backwards: The same relationships, reversed.
        starts: First nodes.
        ends: Last nodes, one per first node.
        numbers: Their numbers among all pairs.
    """

    steps: Adjacency
    backwards: Adjacency
    starts: Nodes
    ends: Nodes
    numbers: Indexes

    def pays(self, device: DeviceSearches | None) -> bool:
        """True if the device is expected to be faster."""
        if device is None:
            return False
        seconds = _host_seconds(self.steps, len(self.starts))
        return device.shortest_pay(self.steps, self.sources, seconds)

    @cached_property
    def sources(self) -> int:
        """Number of distinct nodes at the ends of the pairs where there are fewer."""
        return min(len(unique_values(self.starts)), len(unique_values(self.ends)))

    def taken(self, places: Indexes) -> Pairs:
        """The pairs at these places."""
        given = self.starts[places], self.ends[places], self.numbers[places]
        return Pairs(self.steps, self.backwards, *given)

    def searches(self, check: Callable[[], None], *, every: bool) -> Iterator[tuple[int, _Search]]:
        """Yields searches of as many pairs as fit, and the place of the first one."""
        depths, chunks = shared_depths(self.steps, len(self.starts))
        others = depths.copy()
        for chunk in chunks:
            with (
                Frontier(self.steps, self.starts[chunk], depths) as front,
                Frontier(self.backwards, self.ends[chunk], others) as back,
            ):
                yield chunk.start, _Search(front, back, self.ends[chunk], check, every=every)


def compact_pairs(steps: Adjacency, backwards: Adjacency, starts: Nodes, ends: Nodes) -> Pairs:
    """The pairs in a compact adjacency if that pays, without those that it shows to be apart."""
    compact = compacted(steps)
    if compact is None:
        return Pairs(steps, backwards, starts, ends, np.arange(len(starts)))
    one, other = compact.numbers[starts], compact.numbers[ends]
    some = np.flatnonzero((one >= 0) & (other >= 0))
    nodes = one[some].astype(np.uint32), other[some].astype(np.uint32)
    return Pairs(compact.steps, compact.renumbered(backwards), *nodes, some)


def shortest_paths(
    steps: Adjacency,
    backwards: Adjacency,
    starts: Nodes,
    ends: Nodes,
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
    pairs = compact_pairs(steps, backwards, starts, ends)
    if pairs.pays(device):
        assert device is not None
        given = pairs.steps, pairs.backwards, pairs.starts, pairs.ends, maximum
        left = yield from renumbered(device.paths(*given, every=every), pairs.numbers, ends)
        pairs = pairs.taken(left)
    for first, search in pairs.searches(check, every=every):
        for level in search.paths(maximum):
            rows = pairs.numbers[level.rows + first]
            yield Level(rows, ends[rows], level.relationships)


def distances(
    steps: Adjacency,
    backwards: Adjacency,
    starts: Nodes,
    ends: Nodes,
    maximum: int | None,
    check: Callable[[], None],
    device: DeviceSearches | None = None,
) -> Indexes:
    """Lengths of the shortest paths of pairs of distinct nodes; 0 if no path joins them.

    The arguments are those of `shortest_paths`.
    """
    found = np.zeros(len(starts), dtype=np.int64)
    pairs = compact_pairs(steps, backwards, starts, ends)
    if pairs.pays(device):
        assert device is not None
        given = pairs.steps, pairs.backwards, pairs.starts, pairs.ends, maximum
        found[pairs.numbers], left = device.distances(*given)
        pairs = pairs.taken(left)
    # Both ends of a pair that no path joins read whole components, again for each pair; searches
    # of the shared nodes alone read each of them once.
    budget = pairs.sources * len(pairs.steps.neighbours)
    waiting = [np.zeros(0, dtype=np.int64)]
    for first, search in pairs.searches(check, every=False):
        for rows, _ in search.meetings(maximum, budget):
            found[pairs.numbers[rows + first]] = search.front.depth + search.back.depth
        budget -= search.spent
        if budget < 0:
            waiting.append(np.flatnonzero(search.active) + first)
    pairs = pairs.taken(np.concatenate(waiting))
    if len(pairs.starts):
        found[pairs.numbers] = _from_shared(pairs, maximum, check)
    return found


def _from_shared(pairs: Pairs, maximum: int | None, check: Callable[[], None]) -> Indexes:
    """Lengths of the shortest paths, by a search from each node of the side with fewer nodes."""
    sources = Sources.of(pairs.starts, pairs.ends)
    steps = pairs.backwards if sources.are_ends else pairs.steps
    lengths = np.zeros(len(pairs.starts), dtype=np.int64)
    depths, chunks = shared_depths(steps, len(sources.nodes))
    for chunk in chunks:
        with Frontier(steps, sources.nodes[chunk], depths) as search:
            rows, numbers, nodes = sources.within(chunk.start, chunk.stop - chunk.start)
            keys = numbers * search.node_count + nodes
            for _ in search.levels(check, math.inf if maximum is None else maximum):
                if (depths[keys] >= 0).all():
                    break
            lengths[rows] = np.maximum(depths[keys], 0)
    return lengths


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Partial paths: pair, node at which the path grows, and relationships so far."""

    pairs: NDArray[np.int64]
    nodes: NDArray[np.int64]
    relationships: NDArray[np.uint32]


class _Search:
    """Searches from both nodes of pairs."""

    def __init__(
        self,
        front: Frontier,
        back: Frontier,
        ends: Nodes,
        check: Callable[[], None],
        *,
        every: bool,
    ) -> None:
        self.front = front
        self.back = back
        self.ends = ends
        self.active = np.ones(len(ends), dtype=np.bool_)
        self.check = check
        self.every = every
        self.spent = 0

    def paths(self, maximum: int | None) -> Iterator[Level]:
        """Yields the paths, shortest first."""
        for pairs, nodes in self.meetings(maximum):
            yield from self._paths(pairs, nodes)

    def meetings(
        self, maximum: int | None, budget: float = math.inf
    ) -> Iterator[tuple[Indexes, Indexes]]:
        """Yields pairs whose searches met, and where: at each node if ``every``, else at one.

        Ends once more entries are read than the budget; pairs that wait then are still active.
        """
        front, back = self.front, self.back
        while maximum is None or front.depth + back.depth < maximum:
            self._drop_finished()
            if not len(front.keys) or self.spent > budget:
                return
            one, other = (front, back) if front.work <= back.work else (back, front)
            self.spent += one.work
            one.grow(self.check)
            keys = one.keys[other.depths[one.keys] >= 0]
            if not len(keys):
                continue
            pairs, nodes = np.divmod(keys, one.node_count)
            self.active[pairs] = False
            if not self.every:
                pairs, kept = np.unique(pairs, return_index=True)
                nodes = nodes[kept]
            yield pairs, nodes

    def _drop_finished(self) -> None:
        """Finishes pairs that have met or whose search reaches nothing new on one side."""
        count = len(self.active)
        for side in (self.front, self.back):
            self.active &= np.bincount(side.searches, minlength=count) > 0
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
        self, side: Frontier, steps: Adjacency, begun: _Walk, pairs: NDArray[np.int64]
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
        side: Frontier,
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
