"""What the steps of ``extend`` take, so that a memory limit is met or refused at once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gpugda.device.memory.buffers import SMALLEST_BYTES
from gpugda.errors import MemoryLimitError
from gpugda.match.extend.drafts import MOST_ROWS_OF_PAIR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.placement import Placement
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.step import ExtendStep
    from gpugda.plan.plan import BoundQuery

__all__ = ["PartsError", "check_room", "least_bytes", "rows_within", "said_how_much"]

_BYTES_TO_EXTEND = 4 + 8 + 1 + 1
"""Per row of a table that is extended: length, prefix sum, base; and of its blocks."""
_ARRAYS = 6
"""A table, and what is needed to extend it."""
_SMALL_ARRAYS = 1 << 20
_STEP_BYTES = 1 << 10
"""Limits are named in whole steps."""
_MORE_KEPT = 1 / 8
"""Of a limit: with a higher one, more is kept between queries."""
_SHARE_OF_PARTS = 1
"""Bytes a relationship, of parts that are small."""
_FOR_REUSE = 2
"""An array that is used again may be twice as long as asked for."""


class PartsError(MemoryLimitError):
    """No part of the graph fits beside what the query needs.

    Args:
        reason: Why, without a full stop.
        enough: Bytes with which this query could go on.
    """

    def __init__(self, reason: str, enough: int) -> None:
        enough = -(-enough // _STEP_BYTES) * _STEP_BYTES
        super().__init__(f"{reason}: a memory_limit of {enough:,} bytes is enough")
        self.reason, self.enough = reason, enough


def rows_within(size: int, width: int, *, is_last: bool = False) -> int:
    """How many rows of so many columns fit into so many bytes, with what extends them; 1 at least.

    Nothing extends the rows of the last step.
    """
    return max(1, (size - _ARRAYS * SMALLEST_BYTES) // _row_bytes(width, is_last=is_last))


def least_bytes(steps: Sequence[ExtendStep]) -> int:
    """With so many bytes all steps can go on, one row (or what comes of one pair) at a time."""
    # Asked for each small query: written out, without a call for each step.
    rows = [each.most_rows * (4 * len(each.variables) + _BYTES_TO_EXTEND) for each in steps]
    return _FOR_REUSE * len(steps) * (_ARRAYS * SMALLEST_BYTES + max(rows)) if rows else 0


def check_room(workspace: Workspace, steps: Sequence[ExtendStep], more: int = 0) -> None:
    """Refuses a limit that is too small before the join begins.

    Args:
        workspace: Of the query.
        steps: Of the join.
        more: Bytes that are allocated before the first step.

    Raises:
        MemoryLimitError: It names the smallest limit that suffices.
    """
    least = least_bytes(steps) + more
    workspace.make_room(least)
    if workspace.available < least:
        limit = workspace.budget.limit_bytes
        enough = limit - workspace.available + least
        # A run that only counts needs a few words more or less.
        enough = -(-enough // _STEP_BYTES) * _STEP_BYTES
        raise MemoryLimitError(
            f"joining row by row needs {least:,} bytes, but {limit - workspace.available:,} of the "
            f"memory limit of {limit:,} bytes are taken: the smallest memory_limit that suffices "
            f"is {enough:,} bytes"
        )


@contextmanager
def said_how_much(
    limit: int, graph: DataGraph, bound: BoundQuery, masks: Masks, placement: Placement
) -> Iterator[None]:
    """Where candidates are filtered: an error of the memory limit says how much is enough.

    ``placement``: what of the graph must be there.
    """
    try:
        yield
    except MemoryLimitError as error:
        enough, reason = _enough_bytes(graph, bound, masks, placement), str(error)
        if isinstance(error, PartsError):
            reason, own = error.reason, int(error.enough * (1 + _MORE_KEPT))
            enough = min(enough, -(-own // _STEP_BYTES) * _STEP_BYTES)
        if limit >= enough:
            raise  # it is the device that has no more
        raise MemoryLimitError(f"{reason}. A memory_limit of {enough:,} bytes is enough") from error


def _enough_bytes(graph: DataGraph, bound: BoundQuery, masks: Masks, placement: Placement) -> int:
    """Were all nodes candidates of all query nodes."""
    runs = len(graph.outgoing.run_types) + len(graph.incoming.run_types)
    words, rows = -(-graph.node_count // 32), len(bound.nodes)
    directory = 8 * runs + 8 * graph.node_count
    # Parts have places for three of each direction, and their own starts of runs.
    relationships = directory + 12 * graph.relationship_count
    if not placement.has_directory:
        relationships = 16 * graph.node_count + _SHARE_OF_PARTS * graph.relationship_count
    elif not placement.is_whole:
        relationships = 2 * directory + _SHARE_OF_PARTS * graph.relationship_count
    labels = 2 * 4 * words * (len(graph.labels) + 1)
    bitmaps = sum(
        each.nbytes for each in (*masks.nodes.values(), *masks.relationships.values(), *masks.keys)
    )
    matrices = rows * (3 * 4 * words + 8 * words + 4 * graph.node_count)
    steps = rows + len(bound.relationships)
    row = MOST_ROWS_OF_PAIR * _row_bytes(steps, is_last=False)
    joining = steps * (_ARRAYS * SMALLEST_BYTES + row)
    return relationships + labels + bitmaps + _FOR_REUSE * (matrices + joining) + _SMALL_ARRAYS


def _row_bytes(width: int, *, is_last: bool) -> int:
    return max(1, 4 * width + (0 if is_last else _BYTES_TO_EXTEND))
