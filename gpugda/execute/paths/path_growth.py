"""Expected paths of variable length, by levels: counted on the host's lists, many by a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.match.walk import neighbours_of
from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph

__all__ = ["Growth", "is_large", "path_growth"]

_LARGE: Final = 1 << 20
_MAX_LEVELS: Final = 32
_MAX_PATHS: Final = 1e12
_FEW: Final = 0.01
_SAMPLE: Final = 1 << 9
"""Nodes that a level is followed from; a level of more nodes is sampled."""
_SATURATED: Final = 8.0
"""Paths per node that can be reached from which hardly a node is missed, and all paths are too many
to be followed: what comes after is extrapolated."""


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
    an undirected relationship are no paths: there is one relationship less to follow.

    Args:
        graph: The data graph.
        starts: ``float64[n]``, how often paths begin at each node; None for once at each.
        direction: As seen from there.
        types: Type ids; None for any type.
        minimum: Minimum number of relationships.
        maximum: Maximum number; None for no bound.
    """
    last = _MAX_LEVELS if maximum is None else min(maximum, _MAX_LEVELS)
    count = graph.node_count
    nodes = np.arange(count) if starts is None else np.flatnonzero(starts)
    weights = np.ones(len(nodes)) if starts is None else starts[nodes]
    begun, is_exact = len(nodes), len(nodes) <= _SAMPLE
    if not begun:
        return Growth((1.0,), 0.0)
    weights = weights / weights.sum()
    ends = np.zeros(count if is_exact else 0)
    backwards = types, None if direction is Direction.BOTH else direction is Direction.INCOMING
    most = graph.nodes_having(backwards, None)
    if is_exact and minimum == 0:
        ends[nodes] = weights
    sides = [graph.outgoing] * (direction is not Direction.INCOMING)
    sides += [graph.incoming] * (direction is not Direction.OUTGOING)
    levels = [1.0]
    while len(levels) <= last and _FEW < levels[-1] < _MAX_PATHS:
        if sum(levels[max(minimum, 1) :]) > _SATURATED * most:
            levels.append(levels[-1] * levels[-1] / levels[-2])
            continue
        if len(nodes) > _SAMPLE:
            nodes, weights = _sampled(nodes, weights)
            is_exact = False
        spared = 1 if len(sides) == 2 and len(levels) > 1 else 0
        nodes, weights = _followed(sides, nodes, weights, types, spared)
        levels.append(float(weights.sum()))
        if is_exact:
            dense = np.bincount(nodes, weights, count)
            nodes = np.flatnonzero(dense)
            weights = dense[nodes].astype(np.float64)
            if len(levels) > minimum:
                ends += dense
    if not is_exact:
        # Where paths that reach much of a graph end is much like where relationships end.
        if is_large(graph):
            return Growth(tuple(levels), float(most), begun)
        ends = graph.degrees_of(backwards)
    return Growth(tuple(levels), float(np.count_nonzero(ends)), begun, ends)


def _sampled(
    nodes: NDArray[np.intp], weights: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Some of the nodes, each as often as it weighs, of the same weight together."""
    sums = np.cumsum(weights)
    share = sums[-1] / _SAMPLE
    places = np.searchsorted(sums, (np.arange(_SAMPLE) + 0.5) * share)
    return nodes[np.minimum(places, len(nodes) - 1)], np.full(_SAMPLE, share)


def _followed(
    sides: list[Csr],
    nodes: NDArray[np.intp],
    weights: NDArray[np.float64],
    types: tuple[int, ...] | None,
    spared: int,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """The ends of relationships of some nodes, but ``spared`` of each, and their weights."""
    given = nodes.astype(np.uint32)
    found = [neighbours_of(side, given, types, lambda _: None)[:2] for side in sides]
    places, others = (np.concatenate(each) for each in zip(*found, strict=True))
    if spared:
        degrees = np.bincount(places, minlength=len(nodes))
        weights = weights * (1 - spared / np.maximum(degrees, 1))
    return others, weights[places]
