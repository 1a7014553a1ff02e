"""Rows of a result table in columns of gpugda."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

from gpugda.data.integer_sets import unique_values
from gpugda.data.values.chunked_column import chunks_of
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.driver_values import is_broken
from gpugda.result.entities import PlainEntities
from gpugda.result.rows import RowReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import neo4j
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.arrow import EntityForm
    from gpugda.result.frames import FrameColumn
    from gpugda.result.neo4j_entities import Neo4jEntities

__all__ = ["TableRows"]

_SCALARS = frozenset({ColumnKind.BOOLEAN, ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.STRING})


class TableRows:
    """A `RowSource` over a table; makes Python values when they are read.

    Imports neo4j for the first node or relationship; all those of a result belong to one graph.

    Args:
        table: The rows.
    """

    def __init__(self, table: ResultTable) -> None:
        self.table = table
        self._entities: Neo4jEntities | None = None
        self._made: RowReader | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """See `RowSource`."""
        return self.table.names

    @property
    def row_count(self) -> int:
        """See `RowSource`."""
        return self.table.row_count

    def records(self, start: int, stop: int) -> Sequence[neo4j.Record]:
        """See `RowSource`."""
        from gpugda.result.records import make_records

        reader = self._reader()
        reader.meet(range(len(self.table.columns)), start, stop)
        return make_records(self.names, reader.rows(start, stop))

    def column(self, place: int, start: int, stop: int) -> list[Any]:
        """See `RowSource`."""
        (values,) = self._columns([place], start, stop)
        return list(values)

    def values(self, places: Sequence[int | None], start: int, stop: int) -> list[list[Any]]:
        """See `RowSource`."""
        if not places:
            return [[] for _ in range(start, stop)]
        return list(map(list, zip(*self._columns(places, start, stop), strict=True)))

    def data(
        self, names: Sequence[str], places: Sequence[int | None], start: int, stop: int
    ) -> list[dict[str, Any]]:
        """See `RowSource`; only non-scalar columns use the driver's conversion, which is slow."""
        if not places:
            return [{} for _ in range(start, stop)]
        columns = self._columns(places, start, stop)
        richer = [
            number
            for number, place in enumerate(places)
            if place is not None and not self._is_scalar(place) and not _is_data(columns[number])
        ]
        if richer:
            found = _as_data([columns[number] for number in richer])
            for number, values in zip(richer, found, strict=True):
                columns[number] = values
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def graph(self) -> Graph:
        """See `RowSource`."""
        reader, entities = self._reader(), self._hydration()
        for column in self.table.columns:
            if column.kind in _SCALARS:
                continue
            for piece in chunks_of(column):
                if column.kind is ColumnKind.OBJECT:
                    reader.values(piece)
                    continue
                some = piece.values if piece.valid is None else piece.values[piece.valid]
                is_node = column.kind is ColumnKind.NODE
                (entities.nodes if is_node else entities.relationships)(unique_values(some))
        return entities.graph

    def plain_blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """See `RowSource`."""
        plain = PlainEntities(self.table.graph, self.table.entity_properties)
        return RowReader(self.table, plain).blocks(start, stop)

    def arrow(self, start: int, form: EntityForm, dictionary_strings: bool) -> pa.Table:
        """See `RowSource`."""
        from gpugda.result.arrow import arrow_table

        return arrow_table(self.table, start, form, dictionary_strings)

    def frame_columns(self, start: int) -> list[FrameColumn]:
        """See `RowSource`."""
        return [
            self._frame_column(place, column, start)
            for place, column in enumerate(self.table.columns)
        ]

    def _frame_column(self, place: int, column: Column, start: int) -> FrameColumn:
        # Nullable integers: floats, which pandas would choose, cannot represent large ones exactly.
        if column.kind is ColumnKind.INTEGER and column.valid is None:
            return column.values[start:], "int64"
        if column.kind is ColumnKind.FLOAT and column.valid is None:
            return column.values[start:], "float64"
        dtype = {
            ColumnKind.INTEGER: "Int64",
            ColumnKind.FLOAT: "float64",
            ColumnKind.STRING: None,
            ColumnKind.BOOLEAN: None,
        }.get(column.kind, "object")
        values = self._reader().column(place, start, self.row_count)
        self._refuse_broken({place: values})
        return values, dtype

    def _columns(self, places: Sequence[int | None], start: int, stop: int) -> list[Iterable[Any]]:
        """The values of these columns. If one holds entities, all such columns are read.

        The ends of a relationship get their labels and properties from the node columns of the
        row, and the graph of a node has all entities.
        """
        wanted = {place for place in places if place is not None}
        if not all(map(self._is_scalar, wanted)):
            everything = range(len(self.table.columns))
            wanted.update(place for place in everything if not self._is_scalar(place))
        reader = self._reader()
        reader.meet(wanted, start, stop)
        made = {place: reader.column(place, start, stop) for place in sorted(wanted)}
        self._refuse_broken({place: made[place] for place in places if place is not None})
        return [repeat(None, stop - start) if each is None else made[each] for each in places]

    def _refuse_broken(self, columns: Mapping[int, Sequence[Any]]) -> None:
        """Raises the driver's error for the first value that it cannot show; see `is_broken`."""
        broken = [
            (next(row for row, value in enumerate(values) if is_broken(value)), place)
            for place, values in columns.items()
            if not self._is_scalar(place) and any(map(is_broken, values))
        ]
        if broken:
            from gpugda.result.records import make_records

            row, place = min(broken)
            values = [columns[each][row] if each in columns else None for each in range(place + 1)]
            make_records(self.names[: place + 1], [tuple(values)])[0].value(place)

    def _is_scalar(self, place: int) -> bool:
        return self.table.columns[place].kind in _SCALARS

    def _reader(self) -> RowReader:
        if self._made is None:
            if any(column.kind not in _SCALARS for column in self.table.columns):
                self._made = RowReader(self.table, self._hydration())
            else:  # no entities: neo4j need not be imported
                self._made = RowReader(self.table, PlainEntities(self.table.graph))
        return self._made

    def _hydration(self) -> Neo4jEntities:
        if self._entities is None:
            from gpugda.result.neo4j_entities import Neo4jEntities

            self._entities = Neo4jEntities(self.table.graph, self.table.entity_properties)
        return self._entities


def _is_data(values: Iterable[Any]) -> bool:
    """True if ``neo4j.Record.data`` leaves all of these values unchanged."""
    from neo4j.spatial import Point
    from neo4j.time import Date, DateTime, Duration, Time

    unchanged = (str, bool, int, float, type(None), Point, Date, Time, DateTime, Duration)
    return all(issubclass(kind, unchanged) for kind in set(map(type, values)))


def _as_data(columns: Sequence[Iterable[Any]]) -> list[list[Any]]:
    from gpugda.result.records import make_records

    names = tuple(map(str, range(len(columns))))
    rows = [record.data() for record in make_records(names, zip(*columns, strict=True))]
    return [[row[name] for row in rows] for name in names]
