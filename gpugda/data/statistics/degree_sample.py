"""Degrees of a sample of nodes, for estimates on graphs whose degrees take seconds to gather."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from gpugda.data.labels import LabelPlaces, label_ids_of
from gpugda.data.runs import TypeFilter, positions, repeated
from gpugda.data.threads import in_threads, pieces_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr, CsrParts
    from gpugda.types import NameId

__all__ = [
    "DegreeSample",
    "Kind",
    "degrees_of_kind",
    "draw_nodes",
    "find_hubs",
    "is_sampled",
    "reached_degree",
]

_SAMPLED_FROM: Final = 1 << 25
"""Nodes and runs from which degrees are sampled: gathering one kind takes 0.1 s there."""
_DRAWN: Final = 1 << 17
"""Nodes drawn, apart from hubs. With fewer nodes of a label, all are taken."""
_HUBS: Final = 1 << 15
_HUB_RUNS: Final = 1 << 20
"""Maximum number of hubs, and of their runs in both directions."""
_PIECE: Final = 1 << 20


def is_sampled(outgoing: Csr) -> bool:
    """True if a graph is so large that `DegreeSample` replaces the degrees of all nodes."""
    return outgoing.node_count + len(outgoing.parts.run_types) > _SAMPLED_FROM


class DegreeSample:
    """Degrees of some nodes, and the number of nodes that each stands for.

    Hubs stand for themselves: a random sample misses them, though they hold much of the sum.

    Args:
        outgoing: Rows by start node.
        incoming: Rows by end node.
        nodes: ``int64[k]``.
        weights: ``float64[k]``: how many nodes each stands for.
    """

    def __init__(
        self,
        outgoing: Csr,
        incoming: Csr,
        nodes: NDArray[np.int64],
        weights: NDArray[np.float64],
    ) -> None:
        self.weights = weights
        self._outgoing = _Runs(outgoing.parts, nodes)
        self._incoming = _Runs(incoming.parts, nodes)

    def degrees(self, kind: Kind) -> NDArray[np.float64]:
        """``float64[k]``: degree of each node over relationships of a kind."""
        types, is_outgoing = kind
        found = np.zeros(len(self.weights))
        if is_outgoing is not False:
            self._outgoing.add(types, found)
        if is_outgoing is not True:
            self._incoming.add(types, found)
        return found


class _Runs:
    """The runs of some nodes in one direction."""

    def __init__(self, csr: CsrParts, nodes: NDArray[np.int64]) -> None:
        self._degrees = (csr.row_offsets[nodes + 1] - csr.row_offsets[nodes]).astype(np.float64)
        first = csr.run_offsets[nodes].astype(np.int64)
        counts = csr.run_offsets[nodes + 1] - first
        runs = positions(first, counts)
        self._types = csr.run_types[runs]
        self._lengths = csr.run_starts[runs + 1] - csr.run_starts[runs]
        self._owners = repeated(np.arange(len(nodes), dtype=np.int32), counts)

    def add(self, types: tuple[int, ...] | None, degrees: NDArray[np.float64]) -> None:
        """Adds the nodes' degrees over these types (None: any)."""
        if types is None:
            degrees += self._degrees
            return
        # A few kinds are asked for: looking at all runs takes less time than sorting them once.
        runs = TypeFilter(types).places(self._types)
        own, lengths = self._owners[runs], self._lengths[runs]
        degrees += np.bincount(own, weights=lengths, minlength=len(degrees))


def find_hubs(outgoing: Csr, incoming: Csr) -> NDArray[np.int64]:
    """The nodes of the highest degrees, both directions together, in increasing order."""
    rows, others = outgoing.row_offsets, incoming.row_offsets

    def highest(piece: slice) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        bounds = slice(piece.start, piece.stop + 1)
        degrees = np.diff(rows[bounds]).astype(np.int64) + np.diff(others[bounds])
        places = _top(degrees, _HUBS)
        return places + piece.start, degrees[places]

    pieces = pieces_of(outgoing.node_count, _PIECE) or [slice(0, 0)]
    found = in_threads(highest, pieces)
    nodes, degrees = (np.concatenate(each) for each in zip(*found, strict=True))
    nodes = nodes[_top(degrees, _HUBS)]
    runs = np.zeros(len(nodes), dtype=np.int64)
    for csr in (outgoing, incoming):
        runs += csr.run_offsets[nodes + 1].astype(np.int64) - csr.run_offsets[nodes]
    return np.sort(nodes[np.cumsum(runs) <= _HUB_RUNS])


def _top(values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Positions of the largest values, the largest first."""
    if len(values) > count:
        places = np.argpartition(values, -count)[-count:]
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")]


def draw_nodes(
    label_offsets: NDArray[np.uint32],
    label_ids: NDArray[NameId],
    label_id: int | None,
    hubs: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Nodes with a label (None: any), hubs among them, and how many nodes each stands for.

    Args:
        label_offsets: Offsets of all nodes into ``label_ids``.
        label_ids: Label ids of all nodes.
        label_id: The label.
        hubs: The nodes of the highest degrees, increasing.
    """
    if label_id is None:
        return _drawn(len(label_offsets) - 1, hubs, lambda places: places)
    offsets, ids = label_ids_of(label_offsets, label_ids, hubs)
    having = np.repeat(np.arange(len(hubs)), np.diff(offsets))[ids == label_id]
    places = LabelPlaces(label_ids, label_id)

    def nodes_at(some: NDArray[np.int64]) -> NDArray[np.int64]:
        # In the dtype of the offsets: otherwise searchsorted would copy all of them.
        wanted = places.at(some).astype(np.uint32)
        return np.searchsorted(label_offsets, wanted, side="right").astype(np.int64) - 1

    return _drawn(places.count, hubs[having], nodes_at)


def _drawn(
    count: int, hubs: NDArray[np.int64], nodes_at: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draws from ``count`` nodes, of which ``nodes_at`` gives some by their increasing numbers."""
    if count <= _DRAWN:
        return nodes_at(np.arange(count)), np.ones(count)
    drawn = np.unique(np.random.default_rng(0).integers(0, count, _DRAWN))
    others = np.setdiff1d(nodes_at(drawn), hubs, assume_unique=True)
    share = (count - len(hubs)) / max(len(others), 1)
    weights = np.concatenate([np.ones(len(hubs)), np.full(len(others), share)])
    return np.concatenate([hubs, others]), weights


Kind: TypeAlias = "tuple[tuple[int, ...] | None, bool | None]"
"""Kind of a node's relationships: type ids (None: any), and True if outgoing (None: both)."""


def degrees_of_kind(outgoing: Csr, incoming: Csr, kind: Kind) -> NDArray[np.float64]:
    """``float64[n]``: degree of each node over relationships of a kind."""
    types, is_outgoing = kind
    directions = [outgoing] * (is_outgoing is not False) + [incoming] * (is_outgoing is not True)
    degrees = np.zeros(outgoing.node_count)
    for csr in directions:
        if types is None:
            degrees += csr.degrees()
            continue
        for each in types:
            runs = np.flatnonzero(csr.run_types == each)
            # A node has at most one run of a type.
            nodes = np.searchsorted(csr.run_offsets, runs, side="right") - 1
            degrees[nodes] += csr.run_starts[runs + 1] - csr.run_starts[runs]
    return degrees


def reached_degree(
    along: NDArray[np.float64],
    degrees: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Mean degree of the nodes reached along relationships, weighted by how often each is reached.

    Args:
        along: Per node, the number of relationships that lead to it.
        degrees: Per node, its degree.
        weights: Number of nodes that each stands for; None: only itself.
    """
    if weights is not None:
        along = along * weights
    total = float(along.sum())
    # Not a matrix product: BLAS would start threads that busy-wait, which takes ten times as long
    # and slows down other work on the machine.
    return float(np.einsum("i,i", along, degrees)) / total if total else 0.0
