"""Memory that the steps of ``extend`` need, so that a limit is met or refused at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.errors import MemoryLimitError
from gpugda.match.extend.drafts import MAX_ROWS_OF_PAIR

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.placement import Placement
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import Embeddings, Masks
    from gpugda.match.extend.step import ExtendStep
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "SegmentMemoryError",
    "check_room",
    "enough_bytes",
    "min_bytes",
    "naming_limit",
    "retried",
    "rows_within",
    "with_sufficient_limit",
]

_BYTES_TO_EXTEND = 4 + 8 + 1 + 1
"""Per row of a table to be extended: length, prefix sum, base, and a share of its blocks."""
_ARRAYS = 6
"""Arrays per step: a table, and what is needed to extend it."""
_SMALL_ARRAYS = 1 << 20
_STEP_BYTES = 1 << 10
"""Limits in messages are multiples of this."""
_CACHE_RESERVE = 1 / 8
"""Share of a limit: with a higher one, more is kept between queries."""
_SHARE_OF_PARTS = 1
"""Bytes per relationship of the graph, for small segments."""
_SHARE_OF_RUNS = 3
"""How many times as much parts take that bring runs: each relationship may be a run."""
_REUSE_FACTOR = 2
"""A reused array may be twice as long as requested."""


class SufficientLimitError(MemoryLimitError):
    """Its text names a memory limit that is enough."""


class SegmentMemoryError(MemoryLimitError):
    """No segment of the graph fits beside what the query needs.

    Args:
        reason: Why, without a full stop.
        enough: Memory limit in bytes with which this query could run.
    """

    def __init__(self, reason: str, enough: int) -> None:
        enough = -(-enough // _STEP_BYTES) * _STEP_BYTES
        super().__init__(f"{reason}: a memory_limit of {enough:,} bytes is enough")
        self.reason, self.enough = reason, enough


def rows_within(size: int, width: int, *, is_last: bool = False) -> int:
    """Rows of ``width`` columns that fit into ``size`` bytes with what extends them; at least 1.

    Nothing extends the rows of the last step.
    """
    return max(1, (size - _ARRAYS * SMALLEST_BYTES) // _row_bytes(width, is_last=is_last))


def min_bytes(steps: Sequence[ExtendStep]) -> int:
    """Bytes with which all steps can proceed one row, or the rows of one pair, at a time."""
    # Called for each small query: avoids a call for each step.
    rows = [each.max_rows * (4 * len(each.variables) + _BYTES_TO_EXTEND) for each in steps]
    return _REUSE_FACTOR * len(steps) * (_ARRAYS * SMALLEST_BYTES + max(rows)) if rows else 0


def check_room(workspace: Workspace, steps: Sequence[ExtendStep], more: int = 0) -> None:
    """Refuses a limit that is too small before the join starts.

    Args:
        workspace: The query's workspace.
        steps: The steps of the join.
        more: Bytes that are allocated before the first step.

    Raises:
        MemoryLimitError: It names the smallest limit that suffices.
    """
    least = min_bytes(steps) + more
    workspace.make_room(least)
    if workspace.available < least:
        limit = workspace.budget.limit_bytes
        enough = limit - workspace.available + least
        # Other attempts of the same query take a few small arrays more, so the limit is rounded up.
        enough = (-(-enough // _STEP_BYTES) + 1) * _STEP_BYTES
        raise SufficientLimitError(
            f"joining row by row needs {least:,} bytes, but {limit - workspace.available:,} of the "
            f"memory limit of {limit:,} bytes are taken: the smallest memory_limit that suffices "
            f"is {enough:,} bytes"
        )


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
            text += ", and more than the device has"
        raise SufficientLimitError(text) from error


@contextmanager
def with_sufficient_limit(
    limit: int, graph: DataGraph, bound: BoundQuery, masks: Masks, placement: Placement
) -> Iterator[None]:
    """Makes memory errors of a block name a memory limit that is enough.

    ``placement``: which part of the graph must be on the device.
    """
    try:
        yield
    except MemoryLimitError as error:
        if isinstance(error, SufficientLimitError):
            raise
        enough, reason = enough_bytes(graph, bound, masks, placement), str(error)
        if isinstance(error, SegmentMemoryError):
            reason, own = error.reason, int(error.enough * (1 + _CACHE_RESERVE))
            enough = min(enough, -(-own // _STEP_BYTES) * _STEP_BYTES)
        if limit >= enough:
            raise  # the device itself has no more memory
        text = f"{reason}. A memory_limit of {enough:,} bytes is enough"
        raise SufficientLimitError(text) from error


def enough_bytes(graph: DataGraph, bound: BoundQuery, masks: Masks, placement: Placement) -> int:
    """A limit that suffices even if all nodes are candidates of all query nodes."""
    runs = len(graph.outgoing.run_types) + len(graph.incoming.run_types)
    words, rows = -(-graph.node_count // 32), len(bound.nodes)
    is_one_type = len(graph.types) <= 1
    directory = 8 * graph.node_count + (0 if is_one_type else 8 * runs)
    # Three arrays of entries per direction, and the starts of runs.
    relationships = directory + 12 * graph.relationship_count
    parts = _SHARE_OF_PARTS * graph.relationship_count
    if not placement.has_directory:
        relationships = 2 * graph.node_count + (1 if is_one_type else _SHARE_OF_RUNS) * parts
    elif not placement.is_whole:
        relationships = (1 if is_one_type else 2) * directory + parts
    labels = 2 * 4 * words * (len(graph.labels) + 1)
    bitmaps = sum(
        each.nbytes for each in (*masks.nodes.values(), *masks.relationships.values(), *masks.keys)
    )
    matrices = rows * (3 * 4 * words + 8 * words + 4 * graph.node_count)
    steps = rows + len(bound.relationships)
    row = MAX_ROWS_OF_PAIR * _row_bytes(steps, is_last=False)
    joining = steps * (_ARRAYS * SMALLEST_BYTES + row)
    return relationships + labels + bitmaps + _REUSE_FACTOR * (matrices + joining) + _SMALL_ARRAYS


def retried(
    found: Iterator[Embeddings], give_way: Callable[[MemoryLimitError], None] | None = None
) -> Generator[Embeddings, None, bool]:
    """Passes on what is found. Returns False if memory ran out before the first item.

    Args:
        found: Once an item was passed on, nothing is tried again.
        give_way: Frees memory before the next try, or raises the error that it is given.

    Raises:
        MemoryLimitError: Memory ran out after an item was passed on.
    """
    is_begun = False
    try:
        for each in found:
            is_begun = True
            yield each
    except MemoryLimitError as error:
        if is_begun:
            raise
        if give_way is not None:
            give_way(error)
        return False
    return True


def _row_bytes(width: int, *, is_last: bool) -> int:
    return max(1, 4 * width + (0 if is_last else _BYTES_TO_EXTEND))
