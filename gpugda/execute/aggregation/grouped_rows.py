"""Rows with non-null values and their groups: the input of aggregates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.deadline import check_time
from gpugda.errors import MemoryLimitError
from gpugda.execute.batch import sum_of
from gpugda.execute.memory import check_memory
from gpugda.execute.sorting import stable_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.values.columns import Column

__all__ = ["Rows"]

_WINDOW: Final = 1 << 20
"""Most rows that are materialised together when weights are expanded."""
_MAX_ROWS: Final = 1 << 40
"""Limit for adding rows one by one: more would take hours."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows with a non-null value, with their groups.

    Args:
        groups: Number of groups.
        group_of: Group number of each row, ``int64``.
        values: Argument of the aggregate, without nulls.
        everywhere: True if each group is known to have a row.
        weights: Multiplicity of each row, ``uint64``; None if all are 1.
    """

    groups: int
    group_of: NDArray[np.int64]
    values: Column
    everywhere: bool = False
    weights: NDArray[np.uint64] | None = None

    @property
    def row_count(self) -> int:
        """Number of rows, counted with their weights."""
        return len(self.group_of) if self.weights is None else sum_of(self.weights)

    def expanded(self) -> Rows:
        """The rows repeated by their weights; the result has no weights.

        Raises:
            MemoryLimitError: The rows do not fit in memory.
        """
        if self.weights is None:
            return self
        check_memory(self.row_count, 2 * self.values.values.itemsize + 16)
        rows = np.repeat(np.arange(len(self.group_of)), self.weights.astype(np.int64))
        values = self.values.take(rows)
        return replace(self, group_of=self.group_of[rows], values=values, weights=None)

    def windows(self, least: int = 0) -> Iterator[tuple[NDArray[Any], NDArray[np.int64]]]:
        """Values and groups of all rows, repeated by their weights, in windows.

        ``least``: the smallest useful window, in rows.

        Raises:
            MemoryLimitError: There are more than 2^40 rows.
        """
        values = self.values.values
        if self.weights is None:
            yield values, self.group_of
            return
        if self.row_count > _MAX_ROWS:
            raise MemoryLimitError(f"{self.row_count:,} rows are too many to be added one by one")
        left, most = self.weights.copy(), max(_WINDOW, least)
        first = 0
        while first < len(left):
            check_time()
            taken = np.minimum(left[first : first + most], np.uint64(most))
            last = first + max(1, int(np.searchsorted(np.cumsum(taken), most, side="right")))
            taken = taken[: last - first].astype(np.int64)
            yield np.repeat(values[first:last], taken), np.repeat(self.group_of[first:last], taken)
            left[first:last] -= taken.astype(np.uint64)
            first = last if not left[last - 1] else last - 1

    def sorted(self) -> tuple[Column, NDArray[np.int64]]:
        """The values group by group, in row order, and the offset of each group."""
        if self.groups == 1:
            return self.values, np.array([0, len(self.group_of)])
        order = stable_order(self.group_of)
        counts = np.bincount(self.group_of, minlength=self.groups)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        return self.values.take(order), offsets

    def groups_with_rows(self) -> NDArray[np.bool_] | None:
        """Mask of the groups with at least one row; None if all have one."""
        if self.everywhere:
            return None
        there: NDArray[np.bool_] = np.bincount(self.group_of, minlength=self.groups) > 0
        return None if there.all() else there
