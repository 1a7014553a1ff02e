"""Rows of Python values from a table of columns, made block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind, to_values
from gpugda.result.entities import fresh
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.entities import EntityReader

__all__ = ["BLOCK_ROWS", "column_values", "read_blocks"]

BLOCK_ROWS = 1000
"""Rows made at a time: enough to spread a block's fixed cost, few enough for a quick first row."""


def read_blocks(
    table: ResultTable, entities: EntityReader, start: int = 0, stop: int | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows from ``start`` to ``stop`` as lists of at most ``BLOCK_ROWS`` tuples."""
    stop = table.row_count if stop is None else min(stop, table.row_count)
    for low in range(start, stop, BLOCK_ROWS):
        high = min(low + BLOCK_ROWS, stop)
        columns = [column_values(column, entities, low, high) for column in table.columns]
        yield list(zip(*columns, strict=True)) if columns else [()] * (high - low)


def column_values(column: Column, entities: EntityReader, start: int, stop: int) -> list[Any]:
    """The values of some rows of a column, with None for null."""
    valid = None if column.valid is None else column.valid[start:stop]
    piece = Column(column.kind, column.values[start:stop], valid, column.dictionary)
    if column.kind is ColumnKind.NODE or column.kind is ColumnKind.RELATIONSHIP:
        return _entity_values(piece, entities)
    values = to_values(piece)
    if column.kind is ColumnKind.OBJECT:
        return [_with_entities(fresh(value), entities) for value in values]
    return values


def _entity_values(column: Column, entities: EntityReader) -> list[Any]:
    read = entities.nodes if column.kind is ColumnKind.NODE else entities.relationships
    if column.valid is None:
        return list(read(column.values))
    found: list[Any] = [None] * len(column)
    places = np.flatnonzero(column.valid)
    made: Sequence[Any] = read(column.values[places])
    for place, value in zip(places.tolist(), made, strict=True):
        found[place] = value
    return found


def _with_entities(value: Any, entities: EntityReader) -> Any:
    # Lists and maps of a mixed column may hold nodes and relationships.
    if isinstance(value, Entity):
        index: NDArray[np.uint32] = np.array([value.index], dtype=np.uint32)
        return (entities.nodes if value.is_node else entities.relationships)(index)[0]
    if isinstance(value, list):
        return [_with_entities(item, entities) for item in value]
    if isinstance(value, dict):
        return {key: _with_entities(item, entities) for key, item in value.items()}
    return value
