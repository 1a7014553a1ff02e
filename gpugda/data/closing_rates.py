"""Sampled closing rates: how often a relationship joins the ends of a short path.

Estimates of cycles depend on these rates. A path of length two goes from one neighbour of a node
to another neighbour of it; a path of length three continues from there. Types and directions of the
path are ignored. The seed is fixed, so every reader draws the same samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.data.statistics import ANY
from gpugda.data.threads import pieces_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["sampled_closing_rates"]

_SAMPLES: Final = 4096
_PER_RELATIONSHIP: Final = 4
"""Samples per relationship: small graphs have few paths, so they are sampled less."""
_MAX_RUNS: Final = 1 << 20
"""Maximum number of runs inspected: samples are dropped where nodes have thousands of types."""
_MIN_SAMPLES: Final = 64
_PIECE: Final = 1 << 15
"""Nodes whose degrees are computed at a time."""


def sampled_closing_rates(outgoing: Csr, incoming: Csr) -> dict[tuple[int, int], float]:
    """Mean number of relationships from one end of a path to the other.

    Returns:
        By path length (2 or 3) and type id, or ``ANY``; rates of 0 are left out.
    """
    both = _Neighbours(outgoing, incoming)
    paths = both.paths_before()
    if not len(paths) or paths[-1] <= 0:
        return {}
    random = np.random.default_rng(0)
    count = min(_SAMPLES, _PER_RELATIONSHIP * outgoing.relationship_count)
    centers = np.searchsorted(paths, random.random(count) * paths[-1], side="right")
    degrees = both.degrees(centers)
    first, second = random.integers(degrees), random.integers(degrees - 1)
    second += second >= first
    starts, ends = both.at(centers, first), both.at(centers, second)
    found = _rates(outgoing, 2, starts, ends, np.ones(count))
    degrees = both.degrees(ends)
    further = both.at(ends, random.integers(degrees))
    # An end with d neighbours begins d - 1 such paths, of which one was drawn.
    weights = np.where(further == centers, 0, degrees - 1).astype(np.float64)
    return found | _rates(outgoing, 3, starts, further, weights)


class _Neighbours:
    """The rows of both directions as one adjacency list."""

    def __init__(self, outgoing: Csr, incoming: Csr) -> None:
        self._outgoing, self._incoming = outgoing, incoming

    def paths_before(self) -> NDArray[np.float64]:
        """``float64[n]``: paths of length two through the nodes 0 to v (inclusive prefix sum)."""
        # Floats are exact here. In pieces that fit the cache, as graphs may have very many nodes.
        paths: NDArray[np.float64] = np.empty(self._outgoing.node_count)
        for piece in pieces_of(len(paths), _PIECE):
            counts = np.zeros(piece.stop - piece.start)
            for csr in (self._outgoing, self._incoming):
                counts += np.diff(csr.row_offsets[piece.start : piece.stop + 1])
            np.multiply(counts, counts - 1, out=paths[piece])
        return np.cumsum(paths, out=paths)

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Degrees, both directions together, of the given nodes."""
        return _degrees(self._outgoing, nodes) + _degrees(self._incoming, nodes)

    def at(self, nodes: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The neighbours at the given positions of the nodes' rows."""
        found = np.empty(len(nodes), dtype=np.int64)
        own = _degrees(self._outgoing, nodes)
        is_out = places < own
        for csr, which, before in (
            (self._outgoing, is_out, 0),
            (self._incoming, ~is_out, own[~is_out]),
        ):
            entries = csr.row_offsets[nodes[which]].astype(np.int64) + places[which] - before
            found[which] = csr.neighbours[entries]
        return found


def _degrees(csr: Csr, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return csr.row_offsets[nodes + 1].astype(np.int64) - csr.row_offsets[nodes]


def _rates(
    csr: Csr,
    length: int,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> dict[tuple[int, int], float]:
    starts, ends, weights = _first(csr, starts, ends, weights)
    weights = np.where(starts == ends, 0.0, weights)
    total = 2.0 * float(weights.sum())  # each pair is tested in both directions
    if not total:
        return {}
    sums: dict[int, float] = {}
    for sources, targets in ((starts, ends), (ends, starts)):
        types, amounts = _between(csr, sources, targets, weights)
        for kind, amount in zip(types.tolist(), amounts.tolist(), strict=True):
            for each in (kind, ANY):
                sums[each] = sums.get(each, 0.0) + amount
    return {(length, kind): amount / total for kind, amount in sums.items() if amount}


def _first(csr: Csr, *samples: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """The first samples (starts, ends, weights) whose runs stay within ``_MAX_RUNS``."""
    nodes = np.stack(samples[:2])
    runs = csr.run_offsets[nodes + 1].astype(np.int64) - csr.run_offsets[nodes]
    seen = np.cumsum(runs.sum(axis=0))
    count = max(int(np.searchsorted(seen, _MAX_RUNS)), _MIN_SAMPLES)
    return tuple(each[:count] for each in samples)


def _between(
    csr: Csr, sources: NDArray[np.int64], targets: NDArray[np.int64], weights: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distinct types, and the weighted number of relationships of each from sources to targets."""
    first = csr.run_offsets[sources].astype(np.int64)
    runs_each = csr.run_offsets[sources + 1] - first
    sample = np.repeat(np.arange(len(sources)), runs_each)
    places = places_in_runs(runs_each)
    runs = first[sample] + places
    low, high = csr.run_starts[runs].astype(np.int64), csr.run_starts[runs + 1].astype(np.int64)
    wanted = targets[sample]
    begins = _searched(csr, low, high, wanted)
    found = np.zeros(len(runs), dtype=np.int64)
    # Few runs contain the target: entries are counted only in those.
    there = np.flatnonzero(begins < high)
    there = there[csr.neighbours[begins[there]] == wanted[there]]
    found[there] = _searched(csr, begins[there], high[there], wanted[there] + 1) - begins[there]
    amounts = found * weights[sample]
    types, numbers = np.unique(csr.run_types[runs], return_inverse=True)
    sums = np.bincount(numbers.reshape(-1), weights=amounts, minlength=len(types))
    return types.astype(np.int64), sums.astype(np.float64)


def _searched(
    csr: Csr, low: NDArray[np.int64], high: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Lower bound in each run: the first entry whose neighbour is at least ``wanted``."""
    found = low.copy()
    open_runs = np.flatnonzero(low < high)
    low, high, wanted = low[open_runs], high[open_runs], wanted[open_runs]
    while len(open_runs):
        middle = (low + high) >> 1
        below = csr.neighbours[middle] < wanted
        low, high = np.where(below, middle + 1, low), np.where(below, high, middle)
        ended = low == high
        found[open_runs[ended]] = low[ended]
        still = ~ended
        open_runs, low, high = open_runs[still], low[still], high[still]
        wanted = wanted[still]
    return found
