"""Tasks that work groups take, over several launches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.match.run import Run

__all__ = [
    "carried_total",
    "groups_with_scratch",
    "launches",
    "new_carries",
    "scratch_words",
]

_SHARE_FOR_SCRATCH = 0.25


def groups_with_scratch(
    run: Run, words: int, most: int, besides: int = 0, share: float | None = None
) -> int:
    """Number of work groups whose scratch fits in memory; 0 if not even one does.

    Args:
        run: The query's run.
        words: Scratch words per work group.
        most: Maximum number of work groups.
        besides: Bytes of other arrays.
        share: Of the free memory; None for a quarter.
    """
    return max(0, min(most, scratch_words(run, besides, share) // words))


def scratch_words(run: Run, besides: int = 0, share: float | None = None) -> int:
    """Words of scratch that fit in memory.

    Args: as of `groups_with_scratch`.
    """
    share = _SHARE_FOR_SCRATCH if share is None else share
    room = int(run.workspace.available * share) - besides
    return min(room, run.graph.context.info.max_allocation_bytes) // 4


def launches(run: Run, counters: DeviceArray, tasks: int) -> Iterator[None]:
    """Yields whenever a launch is due, until all tasks are taken.

    Args:
        run: The query's run.
        counters: The first one counts the tasks taken.
        tasks: Number of tasks.

    Raises:
        QueryTimeoutError: The deadline passed.
    """
    while int(run.workspace.download(counters)[0]) < tasks:
        run.check_deadline()
        yield


def new_carries(workspace: Workspace) -> DeviceArray:
    """A counter of how often totals pass 2**64."""
    return workspace.upload(np.zeros(1, dtype=np.uint32), "carried sums")


def carried_total(workspace: Workspace, carried: DeviceArray) -> int:
    """What these carries are worth; releases the counter."""
    found = int(workspace.download(carried)[0]) << 64
    workspace.release(carried)
    return found
