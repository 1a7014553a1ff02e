"""Rows that lie in columns of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.result.entities import PlainEntities
from gpugda.result.rows import column_values, read_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import neo4j
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.arrow_values import EntityForm
    from gpugda.result.entities import EntityReader
    from gpugda.result.neo4j_entities import Neo4jEntities

__all__ = ["TableRows"]

_WITH_ENTITIES = frozenset({ColumnKind.NODE, ColumnKind.RELATIONSHIP, ColumnKind.OBJECT})
_CHOSEN_BY_PANDAS = frozenset({ColumnKind.STRING, ColumnKind.BOOLEAN})


class TableRows:
    """A `RowSource` of a table: Python values are made block by block as they are read.

    neo4j is imported with the first node or relationship; those of one result belong to one graph.

    Args:
        table: The rows.
    """

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self._entities: Neo4jEntities | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """See `RowSource`."""
        return self.table.names

    @property
    def row_count(self) -> int:
        """See `RowSource`."""
        return self.table.row_count

    def block(self, start: int) -> Sequence[tuple[Any, ...]]:
        """See `RowSource`."""
        return next(read_blocks(self.table, self._reader(), start))

    def record_maker(self) -> Callable[[tuple[Any, ...]], neo4j.Record]:
        """See `RowSource`."""
        from gpugda.result.records import record_maker

        return record_maker(self.names)

    def graph(self) -> Graph:
        """See `RowSource`."""
        entities = self._hydration()
        for column in self.table.columns:
            if column.kind is ColumnKind.OBJECT:
                column_values(column, entities, 0, len(column))
            elif column.kind in _WITH_ENTITIES:
                some = column.values if column.valid is None else column.values[column.valid]
                is_node = column.kind is ColumnKind.NODE
                (entities.nodes if is_node else entities.relationships)(np.unique(some))
        return entities.graph

    def plain_blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """See `RowSource`."""
        plain = PlainEntities(self.table.graph, self.table.entity_properties)
        return read_blocks(self.table, plain, start, stop)

    def arrow(self, start: int, form: EntityForm, dictionary_strings: bool) -> pa.Table:
        """See `RowSource`."""
        from gpugda.result.arrow import arrow_table

        return arrow_table(self.table, start, form, dictionary_strings)

    def pandas_types(self, start: int) -> list[str | None]:
        """See `RowSource`."""
        return [_pandas_type(column) for column in self.table.columns]

    def _reader(self) -> EntityReader:
        if any(column.kind in _WITH_ENTITIES for column in self.table.columns):
            return self._hydration()
        return PlainEntities(self.table.graph)  # never asked for any: neo4j need not be imported

    def _hydration(self) -> Neo4jEntities:
        if self._entities is None:
            from gpugda.result.neo4j_entities import Neo4jEntities

            self._entities = Neo4jEntities(self.table.graph, self.table.entity_properties)
        return self._entities


def _pandas_type(column: Column) -> str | None:
    # Nullable integers: as floats, which pandas would choose, large ones would be other numbers.
    if column.kind is ColumnKind.INTEGER:
        return "int64" if column.valid is None else "Int64"
    if column.kind is ColumnKind.FLOAT:
        return "float64"
    return None if column.kind in _CHOSEN_BY_PANDAS else "object"
