"""Makes Python values from a table, column by column; rows are zipped columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.chunked_column import chunks_of
from gpugda.data.values.columns import Column, ColumnKind, shown_values, to_values
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.entities import EntityReader

__all__ = ["BLOCK_ROWS", "FIRST_BLOCK_ROWS", "MAX_BLOCK_ROWS", "RowReader"]

FIRST_BLOCK_ROWS = 250
"""Number of records in the first block; each further block is longer."""
BLOCK_ROWS = 1000
"""Number of rows per block for text and JSON."""
MAX_BLOCK_ROWS = 16_000
"""Maximum number of rows per block: enough to amortise a block's fixed cost, few enough to fit the
processor's cache and to bound the memory while rows are read one by one."""

_FEW_ROWS = 2_000

_CHANGEABLE = frozenset({list, dict, Entity, Path})


class RowReader:
    """Makes the values of rows, with None for null.

    Args:
        table: The rows.
        entities: Makes the nodes and relationships.
    """

    def __init__(self, table: ResultTable, entities: EntityReader) -> None:
        self._table = table
        self._entities = entities
        self._texts: dict[int, NDArray[Any]] = {}  # per dictionary that is decoded completely

    def rows(self, start: int, stop: int) -> Iterable[tuple[Any, ...]]:
        """The rows ``start … stop-1``, each read once."""
        places = range(len(self._table.columns))
        if not places:
            return [()] * (stop - start)
        return zip(*(self.column(place, start, stop) for place in places), strict=True)

    def meet(self, places: Iterable[int], start: int, stop: int) -> None:
        """Makes the nodes of a few rows of several columns at once, before `column` reads each.

        Helps only if ``entities`` caches its values.
        """
        columns = [self._table.columns[place] for place in places]
        nodes = [column for column in columns if column.kind is ColumnKind.NODE]
        if len(nodes) > 1 and stop - start <= _FEW_ROWS:
            pieces = [piece for column in nodes for piece in chunks_of(column, start, stop)]
            there = [
                each.values if each.valid is None else each.values[each.valid] for each in pieces
            ]
            self._entities.nodes(np.concatenate(there))

    def blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yields the rows as lists of at most ``BLOCK_ROWS``."""
        stop = min(stop, self._table.row_count)
        for low in range(start, stop, BLOCK_ROWS):
            yield list(self.rows(low, min(low + BLOCK_ROWS, stop)))

    def column(self, place: int, start: int, stop: int) -> list[Any]:
        """The values of one column."""
        pieces = chunks_of(self._table.columns[place], start, stop)
        found = self.values(next(pieces))
        for piece in pieces:
            found += self.values(piece)
        return found

    def values(self, column: Column) -> list[Any]:
        """The values of a column or of a chunk of a column."""
        kind = column.kind
        if kind is ColumnKind.NODE or kind is ColumnKind.RELATIONSHIP:
            return self._entity_values(column)
        if kind is ColumnKind.STRING:
            return self._text_values(column)
        values = shown_values(column)
        if kind is ColumnKind.OBJECT and not _CHANGEABLE.isdisjoint(map(type, values)):
            return _Rebuilder(self._entities, values).rebuilt
        return values

    def _entity_values(self, column: Column) -> list[Any]:
        is_node = column.kind is ColumnKind.NODE
        read = self._entities.nodes if is_node else self._entities.relationships
        if column.valid is None:
            return read(column.values)
        found: NDArray[Any] = np.full(len(column), None, dtype=object)
        made = read(column.values[column.valid])
        found[column.valid] = np.fromiter(made, dtype=object, count=len(made))
        values: list[Any] = found.tolist()
        return values

    def _text_values(self, column: Column) -> list[Any]:
        dictionary = column.dictionary
        if not dictionary or len(dictionary) > self._table.row_count:
            return to_values(column)
        texts = self._texts.get(id(dictionary))
        if texts is None:
            everything = dictionary.values(np.arange(len(dictionary), dtype=np.int32))
            texts = self._texts[id(dictionary)] = np.array(everything, dtype=object)
        found = texts[column.values]
        if column.valid is not None:
            found[~column.valid] = None
        values: list[Any] = found.tolist()
        return values


class _Rebuilder:
    """Copies lists and maps, as users must not change the graph's, and makes the entities in them.

    Attributes:
        rebuilt: The values.
    """

    def __init__(self, entities: EntityReader, values: list[Any]) -> None:
        nodes: dict[int, Any] = {}
        relationships: dict[int, Any] = {}
        self._known = {True: nodes, False: relationships}
        self._entities = entities
        for value in values:
            self._note(value)
        if nodes:
            nodes.update(zip(nodes, entities.nodes(_indexes(nodes)), strict=True))
        if relationships:
            found = entities.relationships(_indexes(relationships))
            relationships.update(zip(relationships, found, strict=True))
        self.rebuilt = [self._rebuilt(value) for value in values]

    def _note(self, value: Any) -> None:
        kind = type(value)
        if kind is Entity:
            self._known[value.is_node][value.index] = None
        elif kind is list and not _CHANGEABLE.isdisjoint(map(type, value)):
            for item in value:
                self._note(item)
        elif kind is dict:
            for item in value.values():
                self._note(item)
        elif kind is Path:
            for entity in value.entities:
                self._note(entity)

    def _rebuilt(self, value: Any) -> Any:
        kind = type(value)
        if kind is Entity:
            return self._known[value.is_node][value.index]
        if kind is list:
            if _CHANGEABLE.isdisjoint(map(type, value)):
                return value.copy()
            return [self._rebuilt(item) for item in value]
        if kind is dict:
            return {key: self._rebuilt(item) for key, item in value.items()}
        return self._path(value) if kind is Path else value

    def _path(self, path: Path) -> Any:
        nodes, relationships = self._known[True], self._known[False]
        return self._entities.path(
            [nodes[each.index] for each in path.nodes],
            [relationships[each.index] for each in path.relationships],
        )


def _indexes(known: dict[int, Any]) -> NDArray[np.uint32]:
    return np.fromiter(known, dtype=np.uint32, count=len(known))
