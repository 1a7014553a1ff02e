"""Rows that have a value, with their groups: what aggregates are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.execute.stable_order import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.columns import Column

__all__ = ["Rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows that have a value, with their groups.

    Args:
        groups: Number of groups.
        group_of: ``int64`` per row.
        values: The argument of the aggregate, without nulls.
        everywhere: Whether each group is known to have a row.
    """

    groups: int
    group_of: NDArray[np.int64]
    values: Column
    everywhere: bool = False

    def sorted(self) -> tuple[Column, NDArray[np.int64]]:
        """The values group by group, in the order of rows, and where each group begins."""
        if self.groups == 1:
            return self.values, np.array([0, len(self.group_of)])
        order = stable_order(self.group_of)
        counts = np.bincount(self.group_of, minlength=self.groups)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        return self.values.take(order), offsets

    def there(self) -> NDArray[np.bool_] | None:
        """Groups that have a row; None where all have."""
        if self.everywhere:
            return None
        there: NDArray[np.bool_] = np.bincount(self.group_of, minlength=self.groups) > 0
        return None if there.all() else there
