"""Memory errors that name a memory limit with which the query runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.graph.segments import whole_bytes
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = [
    "SufficientLimitError",
    "TooManyEntriesError",
    "bytes_of_candidates",
    "entries_of",
    "max_star_matches",
    "naming_limit",
    "rows_of_whole_graph",
]

_STEP_BYTES = 1 << 10
"""Limits in messages are multiples of this."""
_REUSE_FACTOR = 2
"""A reused array may be twice as long as requested."""
_SMALL_ARRAYS = 1 << 18
_LEVEL_BYTES = 1 << 13
"""A step's smallest arrays."""


class SufficientLimitError(MemoryLimitError):
    """Its text names a memory limit that is enough."""


class TooManyEntriesError(MemoryLimitError):
    """More entries than 32-bit offsets can address: no memory limit helps."""


@contextmanager
def naming_limit(limit: int, device_bytes: int, enough: Callable[[], int]) -> Iterator[None]:
    """Makes memory errors of a block name a limit, unless they do or have another cause.

    Args:
        limit: The memory limit.
        device_bytes: All memory of the device.
        enough: Computes a limit that is enough.
    """
    try:
        yield
    except MemoryLimitError as error:
        if type(error) is not MemoryLimitError:
            raise
        needed = -(-enough() // _STEP_BYTES) * _STEP_BYTES
        if limit >= needed:
            raise  # the device itself has no more memory
        text = f"{error}. A memory_limit of {needed:,} bytes is enough"
        if needed > device_bytes:
            text += ", and more than the device has: leave the strategy to gpugda"
        raise SufficientLimitError(text) from error


def bytes_of_candidates(graph: DataGraph, bound: BoundQuery, masks: Masks) -> int:
    """Bytes of labels, bitmaps and lists if all nodes are candidates of all query nodes.

    Includes the small arrays of the steps.
    """
    words, rows = -(-graph.node_count // 32), len(bound.nodes)
    labels = 2 * 4 * words * (len(graph.labels) + 1)
    bitmaps = sum(each.nbytes for each in (*masks.nodes.values(), *masks.relationships.values()))
    matrices = rows * (3 * 4 * words + 8 * words + 4 * graph.node_count)
    levels = (rows + len(bound.relationships)) * _LEVEL_BYTES
    return labels + bitmaps + _REUSE_FACTOR * (matrices + levels) + _SMALL_ARRAYS


def entries_of(graph: DataGraph, each: BoundRelationship) -> int:
    """Number of entries that a query relationship can take: twice as many without a direction."""
    counts = graph.statistics.type_counts
    kinds = range(len(graph.types)) if each.types is None else each.types
    return sum(counts[kind] for kind in kinds) * (1 if each.directed else 2)


def rows_of_whole_graph(graph: DataGraph, bound: BoundQuery) -> int:
    """Bytes of all rows of a graph, if the pattern has relationships."""
    return whole_bytes(graph) if bound.relationships else 0


def max_star_matches(graph: DataGraph, bound: BoundQuery) -> float:
    """Upper bound of the matches of the stars into which a pattern is cut, whatever these are."""
    total = 0.0
    for node in bound.nodes:
        matches = np.ones(graph.node_count)
        for each in bound.relationships:
            if node.position in (each.source, each.target):
                matches *= np.maximum(_degrees(graph, each, node.position), 1)
        total += float(matches.sum())
    return total


def _degrees(graph: DataGraph, each: BoundRelationship, node: int) -> np.ndarray:
    """Relationships of each data node that a query relationship can take at one of its ends."""
    degrees = np.zeros(graph.node_count, dtype=np.uint32)
    if not each.directed or each.source == node:
        degrees += graph.outgoing.degrees(each.types)
    if not each.directed or each.target == node:
        degrees += graph.incoming.degrees(each.types)
    return degrees
