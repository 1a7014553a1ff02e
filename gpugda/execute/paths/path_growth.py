"""Expected paths of variable length, by levels: counted on the host's lists, or by mean degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.data.runs import positions
from gpugda.execute.paths.trails import adjacency_of
from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["Growth", "is_large", "path_growth"]

_LARGE: Final = 1 << 20
_MAX_LEVELS: Final = 32
_MAX_PATHS: Final = 1e12
_FEW: Final = 0.01


class Growth(NamedTuple):
    """Walks per start node, by length.

    Args:
        levels: Expected walks of each length, from 0, per start node.
        reachable: Number of nodes that some start node reaches.
        starts: Number of nodes where paths begin.
        ends: ``float64[n]`` per node, walks that end there; None if unknown.
    """

    levels: tuple[float, ...]
    reachable: float
    starts: int = 0
    ends: NDArray[np.float64] | None = None

    def paths(self, minimum: int) -> float:
        """Paths per start node of at least a length."""
        return sum(self.levels[minimum:])

    @property
    def entries(self) -> float:
        """Relationships followed per start node."""
        return sum(self.levels[1:])

    def reached(self, minimum: int) -> float:
        """Distinct ends per start node; those of a single one were counted."""
        most = max(self.reachable, 1.0)
        if self.starts == 1 and self.ends is not None:
            return most
        return most * -float(np.expm1(-self.paths(minimum) / most))


def is_large(graph: DataGraph) -> bool:
    """True if an estimate neither follows the graph's lists nor makes arrays of all its nodes."""
    return graph.relationship_count > _LARGE


def path_growth(
    graph: DataGraph,
    starts: NDArray[np.float64] | None,
    direction: Direction,
    types: tuple[int, ...] | None,
    minimum: int,
    maximum: int | None,
) -> Growth:
    """The growth of paths from some nodes.

    Without a maximum it ends where no path goes on, or at `_MAX_LEVELS`. Walks that turn back along
    an undirected relationship are no paths, and are subtracted.

    Args:
        graph: The data graph.
        starts: ``float64[n]``, how often paths begin at each node; None for once at each, the only
            choice in large graphs.
        direction: As seen from there.
        types: Type ids; None for any type.
        minimum: Minimum number of relationships.
        maximum: Maximum number; None for no bound.
    """
    last = _MAX_LEVELS if maximum is None else min(maximum, _MAX_LEVELS)
    if is_large(graph):
        return _by_mean_degree(graph, direction, types, last)
    starts = np.ones(graph.node_count) if starts is None else starts
    total = float(starts.sum())
    if not total:
        return Growth((1.0,), 0.0)
    lists = graph.cached_adjacency(
        (direction, types), lambda: adjacency_of(graph, direction, types)
    )
    degrees = np.diff(lists.offsets)
    before, now = np.zeros_like(starts), starts / total
    ends = now.copy() if minimum == 0 else np.zeros_like(now)
    levels = [1.0]
    for length in range(1, last + 1):
        nodes = np.flatnonzero(now)
        places = positions(lists.offsets[nodes], degrees[nodes])
        weights = np.repeat(now[nodes], degrees[nodes])
        after = np.bincount(lists.neighbours[places], weights, len(starts)).astype(np.float64)
        if direction is Direction.BOTH and length > 1:
            turned = before * (degrees if length == 2 else np.maximum(degrees - 1, 0))
            after = np.maximum(after - turned, 0.0)
        before, now = now, after
        levels.append(float(now.sum()))
        if length >= minimum:
            ends += now
        if not _FEW < levels[-1] < _MAX_PATHS:
            break
    return Growth(tuple(levels), float(np.count_nonzero(ends)), int(np.count_nonzero(starts)), ends)


def _by_mean_degree(
    graph: DataGraph, direction: Direction, types: tuple[int, ...] | None, last: int
) -> Growth:
    outgoing = None if direction is Direction.BOTH else direction is Direction.OUTGOING
    forwards, backwards = (types, outgoing), (types, None if outgoing is None else not outgoing)
    entries = graph.statistics.relationships_of(types)
    degree = entries * (2 if outgoing is None else 1) / max(graph.node_count, 1)
    later = graph.reached_degree(backwards, forwards) - (1.0 if outgoing is None else 0.0)
    levels = [1.0, degree]
    while len(levels) <= last and _FEW < levels[-1] < _MAX_PATHS:
        levels.append(levels[-1] * later)
    return Growth(tuple(levels[: last + 1]), float(graph.nodes_having(backwards, None)))
