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
    """A table of partial embeddings, one per row.

    Args:
        columns: One ``uint32[row_count]`` per variable.
        row_count: Number of rows; valid even if there are no columns.
    """

    columns: tuple[NDArray[np.uint32], ...]
    row_count: int

    def part(self, first: int, last: int) -> HostTable:
        """Rows ``first … last-1``."""
        return HostTable(tuple(each[first:last] for each in self.columns), last - first)


def joined_tables(tables: Sequence[HostTable]) -> HostTable:
    """Concatenates at least one table."""
    if len(tables) == 1:
        return tables[0]
    columns = zip(*(each.columns for each in tables), strict=True)
    return HostTable(
        tuple(np.concatenate(each) for each in columns), sum(each.row_count for each in tables)
    )
