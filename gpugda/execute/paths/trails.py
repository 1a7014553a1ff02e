"""Variable-length paths that repeat no relationship, level by level on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.adjacency import Adjacency
from gpugda.data.runs import offsets_of
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.relationship_lists import Avoids

__all__ = ["Level", "adjacency_of", "renumbered", "trails", "without_relationships"]

_MAX_VALUES = 1 << 19
"""Most relationships of all paths in a window."""
_MIN_ROWS = 1 << 10
_LONG = 16
"""More relationships than this are compared at once; of fewer, one after another is faster."""


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Paths of one length.

    Args:
        rows: Row number where each path begins, ``int64``.
        ends: Last node of each path, ``uint32``.
        relationships: ``uint32[paths, length]``.
    """

    rows: NDArray[np.int64]
    ends: NDArray[np.uint32]
    relationships: NDArray[np.uint32]

    def taken(self, paths: NDArray[np.int64]) -> Level:
        """The paths at these positions."""
        if len(paths) == len(self.rows):
            return self
        return Level(self.rows[paths], self.ends[paths], self.relationships[paths])


def without_relationships(rows: NDArray[np.int64], ends: NDArray[np.uint32]) -> Level:
    """Empty paths, or paths whose relationships are not read."""
    return Level(rows, ends, np.zeros((len(rows), 0), dtype=np.uint32))


def renumbered(
    levels: Generator[Level, None, NDArray[np.int64]],
    rows: NDArray[np.int64],
    ends: NDArray[np.uint32],
) -> Generator[Level, None, NDArray[np.int64]]:
    """Translates row numbers to those in ``rows``; returns the generator's return value."""
    while True:
        try:
            level = next(levels)
        except StopIteration as end:
            left: NDArray[np.int64] = end.value
            return left
        taken = rows[level.rows]
        yield Level(taken, ends[taken], level.relationships)


def adjacency_of(
    graph: DataGraph,
    direction: Direction,
    types: tuple[int, ...] | None,
    allowed: NDArray[np.bool_] | None = None,
    nodes_allowed: NDArray[np.bool_] | None = None,
) -> Adjacency:
    """The adjacency of a step; an undirected step follows a loop once.

    Args:
        graph: The data graph.
        direction: As seen from the node where a step begins.
        types: Ascending type ids; None for any type.
        allowed: Mask of relationships; None for all.
        nodes_allowed: Mask of nodes that both ends must satisfy; None for all.
    """
    sides = []
    if direction is not Direction.INCOMING:
        sides.append((graph.outgoing, False))
    if direction is not Direction.OUTGOING:
        sides.append((graph.incoming, direction is Direction.BOTH))
    found = []
    for csr, without_loops in sides:
        nodes, neighbours = csr.entry_nodes(), csr.neighbours
        indexes = csr.relationship_indexes
        if indexes is None:
            indexes = np.arange(len(neighbours), dtype=np.uint32)
        kept = np.ones(len(neighbours), dtype=np.bool_)
        if types is not None:
            kept &= np.isin(csr.entry_types(), np.array(types, dtype=csr.run_types.dtype))
        if allowed is not None:
            kept &= allowed[indexes]
        if nodes_allowed is not None:
            kept &= nodes_allowed[nodes] & nodes_allowed[neighbours]
        if without_loops:
            kept &= nodes != neighbours
        found.append((nodes[kept], neighbours[kept], indexes[kept]))
    nodes, neighbours, indexes = (np.concatenate(each) for each in zip(*found, strict=True))
    if len(found) > 1:
        order = np.argsort(nodes, kind="stable")
        nodes, neighbours, indexes = nodes[order], neighbours[order], indexes[order]
    return Adjacency(offsets_of(nodes, graph.node_count), neighbours, indexes)


def trails(
    adjacency: Adjacency | Sequence[Adjacency],
    rows: NDArray[np.int64],
    starts: NDArray[np.uint32],
    minimum: int,
    maximum: int | None,
    check: Callable[[], None],
    keeps: Callable[[Level], NDArray[np.bool_]] | None = None,
    *,
    repeats: bool = False,
    avoids: Avoids | None = None,
) -> Iterator[Level]:
    """All paths from the start nodes that repeat no relationship.

    Runs depth first over windows of paths, so that memory is bounded by the path length.

    Args:
        adjacency: Adjacency of a step, or of each step of a repeated group. Only paths of whole
            repetitions are returned.
        rows: Row number of each start node.
        starts: Start nodes.
        minimum: Fewest relationships.
        maximum: Most relationships; None for no bound.
        check: Called often; raises when the deadline has passed.
        keeps: Returns a mask of the paths to keep and extend; None for all.
        repeats: True if relationships may repeat.
        avoids: Returns, for rows and relationships, a mask of those that their paths may contain.
    """
    steps = (adjacency,) if isinstance(adjacency, Adjacency) else tuple(adjacency)
    begin = without_relationships(rows, starts)
    # Windows are computed lazily: all windows of a level would take memory for all its paths.
    stack: list[Iterator[Level]] = [iter((begin,))]
    while stack:
        check()
        level = next(stack[-1], None)
        if level is None:
            stack.pop()
            continue
        if keeps is not None:
            level = level.taken(np.flatnonzero(keeps(level)))
        length = level.relationships.shape[1]
        if length >= minimum and length % len(steps) == 0 and len(level.rows):
            yield level
        if maximum is not None and length >= maximum:
            continue
        stack.append(_windows(steps[length % len(steps)], level, avoids, repeats=repeats))


def _windows(
    adjacency: Adjacency, level: Level, avoids: Avoids | None, *, repeats: bool
) -> Iterator[Level]:
    """The paths with one more relationship, in windows with fewer rows the longer they are."""
    most = max(_MIN_ROWS, _MAX_VALUES // (level.relationships.shape[1] + 1))
    for start, stop in windows_of(adjacency.entry_counts(level.ends), most):
        longer = _longer(adjacency, level, start, stop, avoids, repeats=repeats)
        if len(longer.rows):
            yield longer


def _longer(
    adjacency: Adjacency,
    level: Level,
    start: int,
    stop: int,
    avoids: Avoids | None,
    *,
    repeats: bool,
) -> Level:
    paths, entries = entries_of(adjacency.offsets, level.ends[start:stop])
    paths += start
    taken = adjacency.relationships[entries]
    fresh = np.ones(len(paths), dtype=np.bool_)
    if avoids is not None:
        fresh = avoids(level.rows[paths], taken)
    if not repeats:
        fresh &= _are_new(level.relationships, paths, taken)
    kept = np.flatnonzero(fresh)
    paths, entries, taken = paths[kept], entries[kept], taken[kept]
    walked = np.concatenate([level.relationships[paths], taken[:, None]], axis=1)
    return Level(level.rows[paths], adjacency.neighbours[entries], walked)


def _are_new(
    walked: NDArray[np.uint32], paths: NDArray[np.int64], taken: NDArray[np.uint32]
) -> NDArray[np.bool_]:
    """True where a path does not contain the relationship that it takes next."""
    length = walked.shape[1]
    if length > _LONG:  # one call instead of one per column
        result: NDArray[np.bool_] = (walked[paths] != taken[:, None]).all(axis=1)
        return result
    fresh = np.ones(len(paths), dtype=np.bool_)
    for column in range(length):
        fresh &= walked[paths, column] != taken
    return fresh
