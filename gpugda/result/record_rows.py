"""Rows of queries that the database answered: the driver's records, returned unchanged."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from gpugda.data.build import empty_graph
from gpugda.data.values.columns import Column, column_from_values
from gpugda.errors import ConfigurationError
from gpugda.execute.result_table import ResultTable
from gpugda.result.entities import NodeValue, PathValue, RelationshipValue
from gpugda.result.frames import type_of_values
from gpugda.result.from_rows import object_column
from gpugda.result.rows import BLOCK_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import neo4j
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.result.arrow import EntityForm
    from gpugda.result.frames import FrameColumn


__all__ = ["RecordRows", "graphs_in", "only_ids", "plain_value"]

_PLAIN = frozenset({bool, int, float, str, type(None)})


def plain_value(value: Any) -> Any:
    """The value with `NodeValue`, `RelationshipValue`, `PathValue` instead of driver classes."""
    return _converted(value, _described)


def only_ids(value: Any) -> Any:
    """The value with element ids instead of entities; a path becomes a list of element ids."""
    return _converted(value, _identified)


def graphs_in(values: Iterable[Any]) -> Iterator[Graph]:
    """Yields the graph of each node, relationship and path in the values."""
    from neo4j.graph import Entity, Path

    for value in values:
        if isinstance(value, Entity | Path):
            yield value.graph
        elif isinstance(value, dict):
            yield from graphs_in(value.values())
        elif isinstance(value, list | tuple):
            yield from graphs_in(value)


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list):
        return list(map(partial(_converted, convert=convert), value))
    if isinstance(value, dict):
        return {key: _converted(item, convert) for key, item in value.items()}
    return convert(value)


def _described(value: Any) -> Any:
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node):
        return NodeValue(value.element_id, tuple(sorted(value.labels)), dict(value.items()))
    if isinstance(value, Relationship):
        ends = ["" if node is None else node.element_id for node in value.nodes]
        properties = dict(value.items())
        return RelationshipValue(value.element_id, value.type, ends[0], ends[1], properties)
    if isinstance(value, Path):
        nodes, relationships = map(_described, value.nodes), map(_described, value.relationships)
        return PathValue(tuple(nodes), tuple(relationships))
    return value


def _identified(value: Any) -> Any:
    from neo4j.graph import Entity, Path

    if isinstance(value, Entity):
        return value.element_id
    if isinstance(value, Path):
        plain: PathValue = _described(value)
        return [part.element_id for part in plain.parts]
    return value


class RecordRows:
    """A `RowSource` over records of the driver.

    Args:
        names: Names of the columns.
        records: The records in order.
    """

    def __init__(self, names: Sequence[str], records: Sequence[neo4j.Record]) -> None:
        self.names = tuple(names)
        self._records = records

    @property
    def row_count(self) -> int:
        """See `RowSource`."""
        return len(self._records)

    @cached_property
    def table(self) -> ResultTable:
        """See `RowSource`; nodes, relationships and paths become plain data."""
        return self._as_table(0, plain_value)

    def records(self, start: int, stop: int) -> Sequence[neo4j.Record]:
        """See `RowSource`."""
        return self._records[start:stop]

    def column(self, place: int, start: int, stop: int) -> list[Any]:
        """See `RowSource`."""
        return [record[place] for record in self._records[start:stop]]

    def values(self, places: Sequence[int | None], start: int, stop: int) -> list[list[Any]]:
        """See `RowSource`."""
        records = self._records[start:stop]
        if list(places) == list(range(len(self.names))):
            return list(map(list, records))
        return [[None if each is None else row[each] for each in places] for row in records]

    def data(
        self, names: Sequence[str], places: Sequence[int | None], start: int, stop: int
    ) -> list[dict[str, Any]]:
        """See `RowSource`."""
        return [record.data(*names) for record in self._records[start:stop]]

    def graph(self) -> Graph:
        """See `RowSource`: the driver makes one graph per result."""
        from neo4j.graph import Graph

        found = next(graphs_in(self._records), None)
        return Graph() if found is None else found

    def plain_blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """See `RowSource`."""
        stop = min(stop, self.row_count)
        for low in range(start, stop, BLOCK_ROWS):
            rows = self._records[low : min(low + BLOCK_ROWS, stop)]
            yield [tuple(map(plain_value, row)) for row in rows]

    def arrow(self, start: int, form: EntityForm, dictionary_strings: bool) -> pa.Table:
        """See `RowSource`; the database has no dense indexes.

        Raises:
            ConfigurationError: ``form`` is ``index`` and the rows have nodes or relationships.
        """
        from gpugda.result.arrow import arrow_table

        if form == "index" and next(graphs_in(self._records), None) is not None:
            raise ConfigurationError(
                "nodes='index': Neo4j answered this query, and there are dense indexes only on the "
                "device; use nodes='id'."
            )
        convert = only_ids if form == "id" else plain_value
        return arrow_table(self._as_table(start, convert), 0, form, dictionary_strings)

    def frame_columns(self, start: int) -> list[FrameColumn]:
        """See `RowSource`."""
        places = range(len(self.names))
        columns = [self.column(place, start, self.row_count) for place in places]
        return [(values, type_of_values(values)) for values in columns]

    def _as_table(self, start: int, convert: Callable[[Any], Any]) -> ResultTable:
        rows = self._records[start:]
        columns = [
            _column([convert(row[place]) for row in rows]) for place in range(len(self.names))
        ]
        return ResultTable(self.names, tuple(columns), len(rows), empty_graph())


def _column(values: list[Any]) -> Column:
    kinds = set(map(type, values))
    if kinds <= _PLAIN and len(kinds - {type(None)}) <= 1:
        return column_from_values(values)
    return object_column(values)
