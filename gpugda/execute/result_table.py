"""The query result in columns."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.data.values.columns import Column
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import EntityProperties

__all__ = ["ResultTable"]


@value(frozen=True, slots=True, eq=False)
class ResultTable:
    """Result rows in order, as named columns; nodes and relationships are still indexes.

    Args:
        names: Column names in the order of RETURN.
        columns: One column per name, each of ``row_count`` rows. NODE and RELATIONSHIP columns hold
            indexes into ``graph``; lists and maps of an OBJECT column may hold ``values.Entity``.
        row_count: Number of rows; valid even without columns.
        graph: The graph that the indexes refer to.
        entity_properties: Properties of the nodes and relationships in the rows, if the graph does
            not hold all properties.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    row_count: int
    graph: DataGraph
    entity_properties: EntityProperties | None = None

    def slice(self, start: int, stop: int) -> ResultTable:
        """The existing rows among ``start … stop-1``; copies no data."""
        start = min(max(start, 0), self.row_count)
        stop = min(max(stop, start), self.row_count)
        columns = tuple(_slice(column, start, stop) for column in self.columns)
        return replace(self, columns=columns, row_count=stop - start)


def _slice(column: Column, start: int, stop: int) -> Column:
    valid = None if column.valid is None else column.valid[start:stop]
    return Column(column.kind, column.values[start:stop], valid, column.dictionary)
