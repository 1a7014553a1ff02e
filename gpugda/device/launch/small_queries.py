"""The filter and the join of few rows, each in one launch."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.extend import StepArrays
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["JoinStep", "SmallFilter", "SmallJoin", "SmallJoined", "SmallOutcome", "join_step_words"]

_ALL_ROUNDS = 0xFFFFFFFF


@value(frozen=True, slots=True, eq=False)
class SmallOutcome:
    """Result of one launch.

    Args:
        counts: Candidates per row. If one is 0, the others are undefined.
        matrix: ``uint32[rows * words]``, one bit per candidate.
        nodes: Node indexes of all candidates, row after row, ascending; None if there are too many.
    """

    counts: list[int]
    matrix: DeviceArray
    nodes: DeviceArray | None


class SmallFilter:
    """Checks, explores, refines, counts and lists candidates by one work item."""

    def __init__(self, context: DeviceContext) -> None:
        self._filter = get_kernel(
            context, "small_filter.cl", "filter_all", f"{GRAPH}bbbbIIIIIIIIbbbb"
        )

    def filter_all(
        self,
        workspace: Workspace,
        arrays: FilterArrays,
        rows: int,
        *,
        explores: bool,
        rounds: int | None,
        max_looks: int,
        max_nodes: int,
    ) -> SmallOutcome | None:
        """Computes the candidates; returns None if it takes more work than expected.

        Args:
            workspace: Owner of the result.
            arrays: Arrays of the query.
            rows: The number of query nodes.
            explores: True to explore neighbours.
            rounds: Number of refinements then; None to repeat until nothing changes.
            max_looks: Maximum number of entries read before giving up.
            max_nodes: Maximum number of candidates that are listed.
        """
        size = rows * arrays.words
        matrix = workspace.allocate(size, np.uint32, "candidates")
        marks = workspace.allocate(size if explores else 1, np.uint32, "marks")
        nodes = workspace.allocate(max_nodes, np.uint32, "listed candidates")
        outcome = workspace.allocate(2 + rows, np.uint32, "counts of candidates")
        self._filter.launch_groups(
            1,
            *arrays.graph,
            arrays.query,
            arrays.label_bits,
            arrays.node_masks,
            arrays.relationship_masks,
            arrays.relationship_words,
            rows,
            arrays.words,
            arrays.node_count,
            int(explores),
            _ALL_ROUNDS if rounds is None else rounds,
            max_looks,
            max_nodes,
            matrix,
            marks,
            nodes,
            outcome,
        )
        is_done, is_listed, *counts = workspace.download(outcome).tolist()
        workspace.release(marks, outcome)
        if not is_listed:
            workspace.release(nodes)
        if not is_done:
            workspace.release(matrix)
            return None
        return SmallOutcome(counts, matrix, nodes if is_listed else None)


_FILE = "small_join.cl"
_LEFT_AT, _ROWS_AT = 4, 5
"""Positions in the outcome."""
_FEW_PAIRS = 1 << 11
"""Pairs of a step that one group of a GPU tests in the time of another kernel launch."""


class JoinStep(NamedTuple):
    """One step.

    Args:
        kind: One of the constants of `SmallJoin`.
        place: Position of its `Extension` in the words.
        max_rows: Maximum number of new rows per pair; for a product, per row.
        width: The number of columns of its rows.
    """

    kind: int
    place: int
    max_rows: int
    width: int


def join_step_words(steps: Sequence[JoinStep]) -> list[int]:
    """Encodes steps for ``small_join.cl``."""
    return [word for each in steps for word in each]


@value(frozen=True, slots=True, eq=False)
class SmallJoined:
    """Result of a join, which may be incomplete.

    Args:
        rows: The number of rows of each complete step.
        total: If the last step only counts and is complete, the number of its rows.
        values: ``uint32``, the rows of the last complete step, column by column; to be released.
        capacity: Elements from one column to the next.
    """

    rows: list[int]
    total: int
    values: DeviceArray
    capacity: int


_PARAMETERS = f"{GRAPH}bIIIbIbIbQIbbb"


class SmallJoin:
    """Makes the rows of all steps, unless there are too many.

    On a CPU one work item makes them in one launch. On a GPU one group makes those of the first
    steps, while they are few, and the host waits for it; the remaining steps have one launch each
    and one blocking read after the last.
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
        max_looks: int,
        capacity: int,
        few_pairs: int = _FEW_PAIRS,
    ) -> SmallJoined:
        """Makes the rows of as many steps as can be completed.

        Args:
            workspace: Owner of the result.
            arrays: Arrays that steps read; ``place`` is the position of `join_step_words`.
            steps: The steps.
            only_counts: True to count the rows of the last step without making them.
            max_looks: Maximum number of entries read, give or take those of a group.
            capacity: Number of rows that fit.
            few_pairs: Steps that test more pairs are left to all groups of a GPU.
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
            max_looks,
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
