"""The degrees and communities of a simple social graph, fitted to published numbers.

The model is that of BTER (Kolda et al., SIAM J. Sci. Comput. 36, 2014): nodes of similar degree
form communities, in which two nodes are joined with a constant probability. All other relationships
join nodes in proportion to their weights (Chung and Lu, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

__all__ = ["CommunityPlan", "SocialShape", "plan_communities"]

_CLASS_GROWTH = 1.1
"""Quotient of the ranks at which two successive classes of equal degree begin."""
_JOINED = 0.6
"""Probability that two nodes of a community are joined. Then friendster has about the published
number of 5-cliques per triangle (5.2)."""
_DENSEST = 0.95
"""The same where the largest possible communities have too few triangles."""
_USUAL_DECAY = 0.75
"""Exponent of the degree as a function of the rank, where the number of wedges is unknown."""
_DECAYS = (0.3, 6.0)
_MAX_DEGREE_SHARE = 0.25
"""Maximum degree as a share of the nodes, for small scales."""
_ROUNDS = 20
_PRECISION = 1e-4
_MIN_COMMUNITY = 3
"""A community of fewer nodes has no triangle."""


@dataclass(frozen=True, slots=True)
class SocialShape:
    """Published numbers of a simple graph.

    Args:
        nodes: Number of nodes.
        relationships: Number of relationships.
        largest: Largest degree.
        triangles: Number of triangles.
        wedges: Pairs of relationships that share a node; None if unknown.
    """

    nodes: int
    relationships: int
    largest: int
    triangles: float
    wedges: float | None = None


@dataclass(frozen=True, slots=True)
class CommunityPlan:
    """Classes of nodes of equal expected degree, in descending order of degree.

    Args:
        firsts: Rank of the first node of each class; the last item is the number of nodes.
        weights: ``float64`` per class: two nodes outside of one community are joined once or more
            with the probability 1 - exp(-product of their weights).
        sizes: Number of nodes of a community, per class; the last one of a class may have fewer.
            0 if the class has no communities.
        joined: Probability that two nodes of a community are joined.
    """

    firsts: Integers
    weights: Floats
    sizes: Integers
    joined: float

    @property
    def counts(self) -> Integers:
        """Number of nodes per class."""
        return np.diff(self.firsts)

    @property
    def pairs(self) -> Floats:
        """Number of pairs of nodes of one community, per class."""
        sizes = np.maximum(self.sizes, 1)
        whole, rest = self.counts // sizes, self.counts % sizes
        found: Floats = (whole * sizes * (sizes - 1.0) + rest * (rest - 1.0)) / 2
        return found

    @property
    def degrees(self) -> Floats:
        """Expected degree of a node, per class."""
        joins = _joins(self.weights)
        inside = 2 * self.joined * self.pairs / self.counts
        found: Floats = joins @ self.counts - np.diag(joins) + inside
        return found

    @property
    def triangles(self) -> float:
        """Expected triangles: in communities, outside, and over one relationship of a community."""
        joins, roots = _joins(self.weights), np.sqrt(self.counts)
        within = float((self.pairs * np.maximum(self.sizes - 2, 0)).sum()) / 3 * self.joined**3
        spread = joins * np.outer(roots, roots)
        outside = float(np.einsum("ij,jk,ki->", spread, spread, spread, optimize=True)) / 6
        over_one = self.joined * float(self.pairs @ (joins**2 @ self.counts))
        return within + outside + over_one

    @property
    def drawn(self) -> float:
        """Expected number of relationships outside of communities, with duplicates and loops."""
        return float(self.counts @ self.weights) ** 2 / 2


def plan_communities(shape: SocialShape, scale: float = 1.0) -> CommunityPlan:
    """A plan for a graph whose nodes, relationships and triangles are scaled.

    The nodes are a sample: the quantiles of the degrees do not depend on the scale, except that the
    mean degree is kept. So the largest degree is lower at a small scale.
    """
    nodes = max(16, round(scale * shape.nodes))
    ends = 2.0 * max(16, round(scale * shape.relationships))
    firsts = _classes(nodes)
    counts = np.diff(firsts).astype(np.float64)
    degrees = _law(shape)(((firsts[:-1] + firsts[1:]) / 2) * (shape.nodes / nodes))
    for _ in range(_ROUNDS):
        degrees *= ends / float(counts @ degrees)
        np.minimum(degrees, _MAX_DEGREE_SHARE * nodes, out=degrees)
    return _fitted(firsts, degrees, scale * shape.triangles)


def _classes(nodes: int) -> Integers:
    """First rank of each class, and the number of nodes."""
    firsts = [0]
    while firsts[-1] < nodes:
        firsts.append(min(nodes, max(firsts[-1] + 1, round(_CLASS_GROWTH * firsts[-1]))))
    return np.array(firsts, dtype=np.int64)


def _law(shape: SocialShape) -> Callable[[Floats], Floats]:
    """Degrees by rank, largest * (1 + rank / shift) ** -decay, with the shape's sums."""
    firsts = _classes(shape.nodes)
    counts, ranks = np.diff(firsts), (firsts[:-1] + firsts[1:] - 1) / 2

    def shift_of(decay: float) -> float:
        return _root(
            lambda log: float(counts @ _degrees(shape.largest, ranks, np.exp(log), decay)),
            2.0 * shape.relationships,
            (-20.0, 40.0),
        )

    def wedges(decay: float) -> float:
        degrees = _degrees(shape.largest, ranks, np.exp(shift_of(decay)), decay)
        return float(counts @ degrees**2) / 2

    decay = _USUAL_DECAY if shape.wedges is None else _root(wedges, shape.wedges, _DECAYS)
    shift = np.exp(shift_of(decay))
    return lambda given: _degrees(shape.largest, np.maximum(given - 0.5, 0.0), shift, decay)


def _degrees(largest: float, ranks: Floats, shift: float, decay: float) -> Floats:
    found: Floats = largest * (1.0 + ranks / shift) ** -decay
    return found


def _root(of: Callable[[float], float], wanted: float, within: tuple[float, float]) -> float:
    """Where an increasing function has a value; an end of the range if it does not reach it."""
    low, high = within
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (middle, high) if of(middle) < wanted else (low, middle)
    return (low + high) / 2


def _fitted(firsts: Integers, degrees: Floats, triangles: float) -> CommunityPlan:
    """The plan with about this number of triangles: by the size of communities, then by density."""

    def planned(largest: int, joined: float = _JOINED) -> CommunityPlan:
        return _planned(firsts, degrees, largest, joined)

    low, high = _MIN_COMMUNITY - 1, _MIN_COMMUNITY
    if planned(low).triangles >= triangles:
        return planned(low)
    while planned(high).triangles < triangles and high < degrees[0]:
        low, high = high, 2 * high
    while high - low > 1:
        size = (low + high) // 2
        enough = planned(size).triangles >= triangles
        low, high = (low, size) if enough else (size, high)
    densest = _JOINED if planned(high).triangles >= triangles else _DENSEST
    joined = _root(lambda each: planned(high, each).triangles, triangles, (_JOINED / 2, densest))
    return planned(high, joined)


def _planned(firsts: Integers, degrees: Floats, largest: int, joined: float) -> CommunityPlan:
    """The plan whose communities have at most ``largest`` nodes, with weights for the degrees."""
    counts = np.diff(firsts)
    sizes = np.minimum(np.minimum(degrees.astype(np.int64) + 1, largest), counts)
    sizes[sizes < _MIN_COMMUNITY] = 0
    number = -(-counts // np.maximum(sizes, 1))
    sizes = np.where(sizes > 0, -(-counts // number), 0)  # all of a class about as large
    plan = CommunityPlan(firsts, degrees, sizes, joined)
    wanted = np.maximum(degrees - 2 * joined * plan.pairs / counts, 0.0)
    weights = wanted / np.sqrt(max(1.0, float(counts @ wanted)))
    for _ in range(_ROUNDS):
        joins = _joins(weights)
        reached = joins @ counts - np.diag(joins)
        weights *= np.sqrt(wanted / np.maximum(reached, 1e-12))
    return CommunityPlan(firsts, weights, sizes, joined)


def _joins(weights: Floats) -> Floats:
    """Probability that two nodes are joined, by class."""
    found: Floats = -np.expm1(-np.outer(weights, weights))
    return found
