"""All steps of a join in one launch, on a CPU; launcher of ``small_join.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.buffers import DeviceArray, Workspace
    from gpugda.device.context import DeviceContext
    from gpugda.device.extend import StepArrays

__all__ = ["JoinStep", "SmallJoin", "SmallJoined", "join_step_words"]


@dataclass(frozen=True, slots=True)
class JoinStep:
    """One step.

    Args:
        kind: One of the constants of `SmallJoin`.
        place: Of its `Extension` in the words.
        most_rows: So many rows come of a pair at most; where it multiplies, of a row.
        width: Columns of its rows.
    """

    kind: int
    place: int
    most_rows: int
    width: int


def join_step_words(steps: Sequence[JoinStep]) -> list[int]:
    """As ``small_join.cl`` reads them."""
    return [word for each in steps for word in (each.kind, each.place, each.most_rows, each.width)]


@dataclass(frozen=True, slots=True, eq=False)
class SmallJoined:
    """How far one launch came.

    Args:
        rows: Of each complete step.
        total: Where the last step only counts, and is complete: how many rows it has.
        values: ``uint32``, the rows of the last complete step, column by column; to be released.
        capacity: Elements from one column to the next.
    """

    rows: list[int]
    total: int
    values: DeviceArray
    capacity: int


class SmallJoin:
    """Makes the rows of all steps by one work item, unless they are too many."""

    MULTIPLIES, EXTENDS, WEIGHS, PRUNES = range(4)

    def __init__(self, context: DeviceContext) -> None:
        self._join = get_kernel(context, "small_join.cl", "join_rows", f"{GRAPH}bIIIbIbIbQIbbb")

    def join(
        self,
        workspace: Workspace,
        arrays: StepArrays,
        steps: Sequence[JoinStep],
        *,
        only_counts: bool,
        most_looks: int,
        capacity: int,
    ) -> SmallJoined:
        """The rows of as many steps as can be completed.

        Args:
            workspace: Where they are allocated.
            arrays: What steps look into; its place is where `join_step_words` are.
            steps: The same.
            only_counts: The rows of the last step are not made.
            most_looks: It ends before it looks at more entries.
            capacity: Rows for which there is place.
        """
        size = capacity * max(1, *(each.width for each in steps))
        tables = [workspace.allocate(size, np.uint32, "partial embeddings") for _ in range(2)]
        outcome = workspace.allocate(3 + len(steps), np.uint32, "counts of rows")
        self._join.launch_groups(
            1,
            *arrays.filter.graph,
            arrays.words,
            arrays.place,
            len(steps),
            int(only_counts),
            arrays.filter.relationship_masks,
            arrays.filter.relationship_words,
            arrays.candidates,
            arrays.filter.words,
            arrays.keys,
            most_looks,
            capacity,
            *tables,
            outcome,
        )
        done, low, high, *rows = workspace.download(outcome).tolist()
        last, other = tables if done % 2 == 0 else tables[::-1]
        workspace.release(outcome, other)
        return SmallJoined(rows[:done], high << 32 | low, last, capacity)
