"""Joins of few rows, whose steps all run without synchronisation in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.join import Table
from gpugda.device.launch.small_queries import SmallJoin
from gpugda.match.extend.memory import min_bytes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.launch.small_queries import SmallJoined
    from gpugda.match.extend.join_setup import JoinSetup
    from gpugda.match.extend.step import ExtendStep

__all__ = ["join_at_once", "last_table"]

_MAX_WORDS = 1 << 14
"""Maximum words of a candidate bitmap, which is scanned once per row that it multiplies."""
_MIN_STEPS = 1
"""If no more steps than these are complete, the attempt costs more than the launches it saves."""
_MEMORY_FACTOR = 4
"""The free memory must be this many times what is needed, to stay away from the limit."""


def join_at_once(setup: JoinSetup, max_rows: int, *, only_counts: bool) -> SmallJoined | None:
    """Joins the first steps, or all if their rows are few. None if it is not worth trying.

    Args:
        setup: The join; its limits bound the rows and the lookups of each step.
        max_rows: Maximum number of rows of a step.
        only_counts: True if the rows of the last step are only counted.
    """
    run, words, limits = setup.run, setup.words, setup.limits
    joined, arrays = words.together
    capacity = min(max_rows, limits.max_at_once)
    if words.outgrew_small_join or (len(joined) == 1 and not run.graph.context.is_cpu):
        return None
    if joined[0].max_rows > capacity or arrays.filter.words > _MAX_WORDS:
        return None
    needed = 2 * 4 * capacity * max(each.width for each in joined) + min_bytes(setup.steps)
    if needed * _MEMORY_FACTOR > run.workspace.available:
        return None
    found = SmallJoin(run.graph.context).join(
        run.workspace,
        arrays,
        joined,
        only_counts=only_counts,
        max_looks=limits.entries_at_once,
        capacity=capacity,
    )
    if len(found.rows) <= _MIN_STEPS and len(found.rows) < len(setup.steps):
        # The next run does not try again. A smaller capacity is no evidence for that.
        words.outgrew_small_join = capacity == limits.max_at_once
    return found


def last_table(steps: Sequence[ExtendStep], joined: SmallJoined) -> Table:
    """The table of rows of the last complete step."""
    done = len(joined.rows)
    width = len(steps[done - 1].variables) if done else 0
    rows = joined.rows[-1] if done else 1
    return Table(joined.values, rows, width, joined.capacity) if width else Table(None, rows, 0)
