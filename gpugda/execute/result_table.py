"""The answer in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.data.columns import Column

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["ResultTable"]


@dataclass(frozen=True, slots=True, eq=False)
class ResultTable:
    """Rows in their order, as named columns; nodes and relationships are still indexes.

    Args:
        names: Column names in the order of RETURN.
        columns: One a name, each of ``row_count`` rows. NODE and RELATIONSHIP columns hold indexes
            into ``graph``; an OBJECT column's lists and maps may hold ``values.Entity``.
        row_count: Number of rows; counts also where there are no columns.
        graph: What the indexes refer to.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    row_count: int
    graph: DataGraph

    def slice(self, start: int, stop: int) -> ResultTable:
        """The rows ``start … stop-1``, or those of them that there are; no data is copied."""
        start = min(max(start, 0), self.row_count)
        stop = min(max(stop, start), self.row_count)
        columns = tuple(_slice(column, start, stop) for column in self.columns)
        return ResultTable(self.names, columns, stop - start, self.graph)


def _slice(column: Column, start: int, stop: int) -> Column:
    valid = None if column.valid is None else column.valid[start:stop]
    return Column(column.kind, column.values[start:stop], valid, column.dictionary)
