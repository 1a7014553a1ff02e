"""Counts relationships between two nodes, or at one node, by look-ups in sorted CSR rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph

__all__ = ["degrees", "degrees_of_all_nodes", "relationship_counts"]

_CHUNK = 1 << 16
"""Pairs looked up together; their working arrays fit in a core's cache."""
_ENTRIES = 1 << 20
"""Neighbours read together."""


def relationship_counts(
    graph: DataGraph,
    sources: NDArray[np.uint32],
    targets: NDArray[np.uint32],
    types: tuple[int, ...] | None,
    direction: Direction,
) -> NDArray[np.int64]:
    """Number of relationships between each pair of nodes, ``int64``; a loop counts once.

    Args:
        graph: The data graph.
        sources: One node of each pair.
        targets: The other node of each pair.
        types: Ascending type ids; None for any type.
        direction: As seen from the sources.
    """
    found = np.zeros(len(sources), dtype=np.int64)
    if graph.relationship_count == 0:  # a null's node index may be out of range here
        return found
    allowed = _allowed(graph, types)
    for first in range(0, len(sources), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        one, other = sources[chunk].astype(np.int64), targets[chunk].astype(np.int64)
        if direction is not Direction.INCOMING:
            found[chunk] += _joined(graph, one, other, allowed)
        if direction is Direction.INCOMING:
            found[chunk] += _joined(graph, other, one, allowed)
        elif direction is Direction.BOTH:
            apart = np.flatnonzero(one != other)
            found[chunk][apart] += _joined(graph, other[apart], one[apart], allowed)
    return found


def degrees(
    graph: DataGraph,
    nodes: NDArray[np.uint32],
    types: tuple[int, ...] | None,
    direction: Direction,
    others: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Degree of each node, ``int64``; an undirected loop counts once.

    Args:
        graph: The data graph.
        nodes: Node indexes; may contain duplicates.
        types: Ascending type ids; None for any type.
        direction: As seen from the nodes.
        others: Per node of the graph, True if relationships to it count; None for all nodes.
    """
    allowed = _allowed(graph, types)
    found = np.zeros(len(nodes), dtype=np.int64)
    if graph.relationship_count == 0:
        return found
    sides = []
    if direction is not Direction.INCOMING:
        sides.append(graph.outgoing)
    if direction is not Direction.OUTGOING:
        sides.append(graph.incoming)
    for first in range(0, len(nodes), _CHUNK):
        chunk = slice(first, first + _CHUNK)
        for csr in sides:
            found[chunk] += _degrees(csr, nodes[chunk], allowed, others)
    if direction is Direction.BOTH:
        loops = relationship_counts(graph, nodes, nodes, types, Direction.OUTGOING)
        found -= loops if others is None else loops * others[nodes]
    return found


def degrees_of_all_nodes(
    graph: DataGraph,
    types: tuple[int, ...] | None,
    direction: Direction,
    others: NDArray[np.bool_] | None,
) -> NDArray[np.uint32]:
    """Degrees of all nodes, ``uint32[n]``, as `degrees`, read sequentially.

    ``direction`` must not be both: a loop would count twice.
    """
    allowed = _allowed(graph, types)
    csr = graph.outgoing if direction is Direction.OUTGOING else graph.incoming
    runs = np.arange(len(csr.run_types))
    if allowed is not None:
        runs = np.flatnonzero(allowed[csr.run_types])
    first, last = (csr.run_starts[each].astype(np.int64) for each in (runs, runs + 1))
    counts = last - first if others is None else _fitting_of_runs(csr, first, last, others)
    run_counts = np.diff(csr.run_offsets)
    nodes = np.repeat(np.arange(graph.node_count, dtype=np.uint32), run_counts)[runs]
    found = np.bincount(nodes, weights=counts, minlength=graph.node_count)
    return found.astype(np.uint32)


def _allowed(graph: DataGraph, types: tuple[int, ...] | None) -> NDArray[np.bool_] | None:
    if types is None:
        return None
    allowed = np.zeros(max(len(graph.types), 1), dtype=np.bool_)
    allowed[list(types)] = True
    return allowed


def _degrees(
    csr: Csr,
    nodes: NDArray[np.uint32],
    allowed: NDArray[np.bool_] | None,
    others: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    if allowed is None and others is None:
        return csr.row_offsets[nodes + 1].astype(np.int64) - csr.row_offsets[nodes]
    found = np.zeros(len(nodes), dtype=np.int64)
    for rows, first, last in _runs(csr, nodes.astype(np.int64), allowed):
        found[rows] += last - first if others is None else _fitting(csr, first, last, others)
    return found


def _fitting(
    csr: Csr, first: NDArray[np.int64], last: NDArray[np.int64], others: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Number of neighbours in each run that count. A run given several times is read once."""
    runs, place = np.unique(first, return_inverse=True)
    ends = np.zeros(len(runs), dtype=np.int64)
    ends[place] = last
    counts = _fitting_of_runs(csr, runs, ends, others)
    found: NDArray[np.int64] = counts[place]
    return found


def _fitting_of_runs(
    csr: Csr, runs: NDArray[np.int64], ends: NDArray[np.int64], others: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Number of neighbours in each run that count; no run may be empty."""
    counts = np.zeros(len(runs), dtype=np.int64)
    done = np.concatenate(([0], np.cumsum(ends - runs)))
    low = 0
    while low < len(runs):
        # As many runs as the budget allows, at least one.
        fit = int(np.searchsorted(done, done[low] + _ENTRIES, side="right")) - 1
        high = max(low + 1, fit)
        starts = done[low:high] - done[low]
        total = int(done[high] - done[low])
        entries = np.repeat(runs[low:high] - starts, ends[low:high] - runs[low:high])
        entries += np.arange(total)
        counts[low:high] = np.add.reduceat(others[csr.neighbours[entries]], starts, dtype=np.int64)
        low = high
    return counts


def _joined(
    graph: DataGraph,
    sources: NDArray[np.int64],
    targets: NDArray[np.int64],
    allowed: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Number of relationships from each source to its target; searches the shorter CSR row."""
    found = np.zeros(len(sources), dtype=np.int64)
    out, into = graph.outgoing.row_offsets, graph.incoming.row_offsets
    out_degrees = out[sources + 1] - out[sources]
    in_degrees = into[targets + 1] - into[targets]
    shorter = out_degrees <= in_degrees
    for csr, rows, nodes, wanted in (
        (graph.outgoing, np.flatnonzero(shorter & (out_degrees > 0)), sources, targets),
        (graph.incoming, np.flatnonzero(~shorter & (in_degrees > 0)), targets, sources),
    ):
        for places, first, last in _runs(csr, nodes[rows], allowed):
            some = rows[places]
            found[some] += _equal(csr.neighbours, first, last, wanted[some])
    return found


def _runs(
    csr: Csr, nodes: NDArray[np.int64], allowed: NDArray[np.bool_] | None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
    """The runs (neighbours of one type) of nodes: positions in ``nodes``, first entries, ends."""
    run = csr.run_offsets[nodes].astype(np.int64)
    end = csr.run_offsets[nodes + 1].astype(np.int64)
    places = np.arange(len(nodes))
    while True:
        kept = np.flatnonzero(run < end)
        if not len(kept):
            return
        places, run, end = places[kept], run[kept], end[kept]
        here = slice(None) if allowed is None else np.flatnonzero(allowed[csr.run_types[run]])
        first = csr.run_starts[run[here]].astype(np.int64)
        yield places[here], first, csr.run_starts[run[here] + 1].astype(np.int64)
        run = run + 1


def _equal(
    values: NDArray[np.uint32],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    wanted: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Per row, how often the wanted value occurs in the sorted slice ``values[first:last]``."""
    low, high = first.copy(), last.copy()
    steps = int((last - first).max(initial=0)).bit_length()
    top = len(values) - 1
    for _ in range(steps):
        middle = (low + high) >> 1
        less = values[np.minimum(middle, top)] < wanted
        less &= low < high
        low = np.where(less, middle + 1, low)
        high = np.where(less, high, middle)
    found = np.zeros(len(first), dtype=np.int64)
    rows = np.flatnonzero(low < last)
    while True:
        rows = rows[values[low[rows] + found[rows]] == wanted[rows]]
        if not len(rows):
            return found
        found[rows] += 1
        rows = rows[low[rows] + found[rows] < last[rows]]
