"""Partial embeddings on the host, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["HostTable", "joined_tables"]


@dataclass(frozen=True, slots=True, eq=False)
class HostTable:
    """Rows, one a partial embedding.

    Args:
        columns: ``uint32[row_count]`` each.
        row_count: Number of rows; counts also where there are no columns.
    """

    columns: tuple[NDArray[np.uint32], ...]
    row_count: int

    def part(self, first: int, last: int) -> HostTable:
        """Rows ``first … last-1``."""
        return HostTable(tuple(each[first:last] for each in self.columns), last - first)


def joined_tables(tables: Sequence[HostTable]) -> HostTable:
    """The rows of all tables; at least one."""
    if len(tables) == 1:
        return tables[0]
    columns = zip(*(each.columns for each in tables), strict=True)
    return HostTable(
        tuple(np.concatenate(each) for each in columns), sum(each.row_count for each in tables)
    )
