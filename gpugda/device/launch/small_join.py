"""All steps of a join of few rows without waiting; launcher of ``small_join.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.extend import StepArrays
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["JoinStep", "SmallJoin", "SmallJoined", "join_step_words"]

_FILE = "small_join.cl"
_LEFT_AT, _ROWS_AT = 4, 5
"""Of the outcome."""
_FEW_PAIRS = 1 << 11
"""Of a step: one group of a GPU looks at them while the host would launch another kernel."""


class JoinStep(NamedTuple):
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
    return [word for each in steps for word in each]


@dataclass(frozen=True, slots=True, eq=False)
class SmallJoined:
    """How far it came.

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


_PARAMETERS = f"{GRAPH}bIIIbIbIbQIbbb"


class SmallJoin:
    """Makes the rows of all steps, unless they are too many.

    On a CPU one work item makes them in one launch. On a GPU one group makes those of the first
    steps, while they are few, and is waited for; then there is a launch per step, and one blocking
    read after the last.
    """

    MULTIPLIES, EXTENDS, WEIGHS, PRUNES = range(4)

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        if context.is_cpu:
            self._join = get_kernel(context, _FILE, "join_rows", _PARAMETERS)
        else:
            self._few, pairs, others = (
                get_kernel(context, _FILE, name, f"{_PARAMETERS}I")
                for name in ("join_few", "join_pairs", "join_others")
            )
            self._by_kind = {
                self.MULTIPLIES: others,
                self.EXTENDS: pairs,
                self.WEIGHS: pairs,
                self.PRUNES: others,
            }

    def join(
        self,
        workspace: Workspace,
        arrays: StepArrays,
        steps: Sequence[JoinStep],
        *,
        only_counts: bool,
        most_looks: int,
        capacity: int,
        few_pairs: int = _FEW_PAIRS,
    ) -> SmallJoined:
        """The rows of as many steps as can be completed.

        Args:
            workspace: Where they are allocated.
            arrays: What steps look into; its place is where `join_step_words` are.
            steps: The same.
            only_counts: The rows of the last step are not made.
            most_looks: It ends before it looks at more entries, give or take those of a group.
            capacity: Rows for which there is place.
            few_pairs: A step that looks at more is left to all groups of a GPU.
        """
        size = capacity * max(1, *(each.width for each in steps))
        tables = [workspace.allocate(size, np.uint32, "partial embeddings") for _ in range(2)]
        none_yet = np.zeros(_ROWS_AT + len(steps), np.uint32)
        none_yet[0] = len(steps)
        outcome = workspace.upload(none_yet, "counts of rows")
        arguments = (
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
        if self._context.is_cpu:
            self._join.launch_groups(1, *arguments)
            found = workspace.download(outcome).tolist()
        else:
            found = self._joined_by_groups(workspace, steps, arguments, outcome, few_pairs)
        done, low, high = found[:3]
        rows = found[_ROWS_AT:]
        last, other = tables if done % 2 == 0 else tables[::-1]
        workspace.release(outcome, other)
        return SmallJoined(rows[:done], high << 32 | low, last, capacity)

    def _joined_by_groups(
        self,
        workspace: Workspace,
        steps: Sequence[JoinStep],
        arguments: Sequence[Any],
        outcome: DeviceArray,
        few_pairs: int,
    ) -> list[int]:
        self._few.launch_groups(1, *arguments, few_pairs)
        found: list[int] = workspace.download(outcome).tolist()
        left = range(found[_LEFT_AT], len(steps))
        if not left:
            return found
        groups = self._context.info.compute_units
        for kernel, some in groupby(left, lambda number: self._by_kind[steps[number].kind]):
            kernel.launch_each(groups, some, *arguments)
        found = workspace.download(outcome).tolist()
        return found
