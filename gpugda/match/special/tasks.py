"""Tasks that work groups take, launch after launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

__all__ = ["groups_with_scratch", "launches"]

_SHARE_FOR_SCRATCH = 0.25


def groups_with_scratch(run: Run, words: int, most: int, besides: int = 0) -> int:
    """Work groups whose scratch has place; none where not even one has.

    Args:
        run: Of the query.
        words: Of scratch that each needs.
        most: Groups at most.
        besides: Bytes that other arrays take.
    """
    room = int(run.workspace.available * _SHARE_FOR_SCRATCH) - besides
    longest = run.graph.context.info.max_allocation_bytes
    return max(0, min(most, min(room, longest) // (4 * words)))


def launches(run: Run, counters: DeviceArray, tasks: int) -> Iterator[None]:
    """Comes whenever a launch is due: until all tasks are taken.

    Args:
        run: Of the query.
        counters: The first one counts tasks that were taken.
        tasks: That there are.

    Raises:
        QueryTimeoutError: The time is up.
    """
    while int(run.workspace.download(counters)[0]) < tasks:
        run.check_deadline()
        yield
