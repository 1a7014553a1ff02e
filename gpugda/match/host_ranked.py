"""Ranked lists made on the host, for a CPU: its cores sort there without compiling kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.node_ranges import bits_for
from gpugda.deadline import check_time
from gpugda.device.launch.ranked_lists import RankedLists, RankedRows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.match.run import Run

__all__ = ["made_on_host"]


def made_on_host(run: Run, type_id: int | None, *, undirected: bool) -> RankedLists:
    """The lists of a type, None for any; see `RankedKernels.made`.

    Raises:
        MemoryLimitError: They do not fit.
        QueryTimeoutError: The deadline passed.
    """
    graph, nodes = run.graph.graph, run.graph.graph.node_count
    types = None if type_id is None or len(graph.types) <= 1 else [type_id]
    degrees = graph.outgoing.degrees(types) + graph.incoming.degrees(types)
    ranks = np.empty(nodes, dtype=np.uint32)
    ranks[np.argsort(-degrees.astype(np.int64), kind="stable")] = np.arange(nodes, dtype=np.uint32)
    check_time()
    starts, kinds = graph.outgoing.entries(slice(0, graph.relationship_count))
    ends = graph.outgoing.neighbours[: graph.relationship_count]
    if types is not None:
        starts, ends = starts[kinds == type_id], ends[kinds == type_id]
    first, second = ranks[starts], ranks[ends]
    is_loop = first == second
    loops = np.bincount(first[is_loop], minlength=nodes).astype(np.uint32)
    first, second = first[~is_loop], second[~is_loop]
    check_time()
    if undirected:
        both = np.concatenate([first, second]), np.concatenate([second, first])
        rows = [_rows(run, *both, nodes)]
    else:
        rows = [_rows(run, first, second, nodes), _rows(run, second, first, nodes)]
    made = run.workspace.upload(loops, "loops by rank") if is_loop.any() else None
    outgoing, above = rows[0]
    size = len(first) * (2 if undirected else 1)
    return RankedLists(outgoing, rows[-1][0], nodes, size, max(above, rows[-1][1]), made)


def _rows(
    run: Run, nodes: NDArray[np.uint32], neighbours: NDArray[np.uint32], count: int
) -> tuple[RankedRows, int]:
    """The lists, and the largest number of neighbours above a node in one of them."""
    bits = np.uint64(bits_for(count + 1))
    numbers = nodes.astype(np.uint64) << bits | neighbours
    numbers.sort()
    check_time()
    lowest = (np.uint64(1) << bits) - np.uint64(1)
    starts = np.zeros(count + 1, dtype=np.uint32)
    starts[1:] = np.cumsum(np.bincount(nodes, minlength=count))
    above = np.bincount(nodes[neighbours < nodes], minlength=count)
    middles = (starts[:-1] + above).astype(np.uint32)
    entries = np.zeros(max(1, len(numbers)), dtype=np.uint32)
    entries[: len(numbers)] = numbers & lowest
    upload = run.workspace.upload
    arrays = (upload(each, "lists by rank") for each in (entries, starts, middles))
    return RankedRows(*arrays), int(above.max(initial=0))
