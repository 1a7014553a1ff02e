"""The result of a query, with the interface of ``neo4j.Result``."""

from __future__ import annotations

import time
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from gpugda.errors import ConfigurationError
from gpugda.execute.result_table import ResultTable
from gpugda.garbage import collections_rare
from gpugda.result.rows import FIRST_BLOCK_ROWS, MAX_BLOCK_ROWS
from gpugda.result.table_rows import TableRows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    import neo4j
    import networkx
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from neo4j import EagerResult as EagerResult  # for rooms that may not import the driver
    from neo4j.graph import Graph

    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import NativeAnswer
    from gpugda.result.arrow import EntityForm
    from gpugda.result.row_source import RowSource
    from gpugda.result.summary import Summary

__all__ = ["Result"]

SHOWN_ROWS = 20
"""Rows of a printed result, and of one in a notebook."""

_Made = TypeVar("_Made")


class Result:
    """The rows of a query in their order; each is read once.

    All rows are in memory already; Python values are made block by block as the rows are read.
    Nodes and relationships have the classes of the neo4j driver; those of one result belong to one
    ``neo4j.graph.Graph``. Only one thread at a time may use a result.

    Args:
        rows: A table, or another source of rows.
        summary: Information about the run.
    """

    def __init__(self, rows: ResultTable | RowSource, summary: Summary) -> None:
        self._rows: RowSource = TableRows(rows) if isinstance(rows, ResultTable) else rows
        self._row_count = self._rows.row_count
        self._summary = summary
        self._block: Sequence[neo4j.Record] = ()
        self._block_start = 0
        self._block_rows = FIRST_BLOCK_ROWS
        self._position = 0
        self._consumed = False

    @classmethod
    def from_rows(
        cls,
        names: Sequence[str],
        rows: Sequence[Sequence[Any]],
        graph: DataGraph,
        summary: Summary,
    ) -> Self:
        """A result from rows of values; nodes and relationships are ``gpugda.values.Entity``."""
        from gpugda.result.from_rows import table_from_rows

        return cls(table_from_rows(names, rows, graph), summary)

    @classmethod
    def from_native(cls, answer: NativeAnswer, summary: Summary) -> Self:
        """A result from the database's records; ``summary`` holds the database's summary."""
        from gpugda.result.record_rows import RecordRows

        return cls(RecordRows(answer.keys, answer.records), summary)

    # -------------------------------------------------------------- about the result
    @property
    def summary(self) -> Summary:
        """Engine, reason and times. Reading it does not consume the rows."""
        return self._summary

    @property
    def table(self) -> ResultTable:
        """All rows as columns, including rows that were read already."""
        return self._rows.table

    @property
    def row_count(self) -> int:
        """Number of rows of the whole result, including rows that were read already."""
        return self._row_count

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self._rows.names

    def closed(self) -> bool:
        """True if ``consume`` was called; then no more rows can be read."""
        return self._consumed

    def consume(self) -> Summary:
        """Discards the unread rows and returns the summary."""
        self._consumed = True
        self._position = self._row_count
        self._block = ()
        return self._summary

    # -------------------------------------------------------------- records
    def __iter__(self) -> Iterator[neo4j.Record]:
        self._check_open()
        while (record := self._next_record()) is not None:
            yield record
        self._check_open()

    def __next__(self) -> neo4j.Record:
        self._check_open()
        record = self._next_record()
        if record is None:
            raise StopIteration
        return record

    def peek(self) -> neo4j.Record | None:
        """The next record without consuming it; None at the end."""
        self._check_open()
        record = self._next_record()
        if record is not None:
            self._position -= 1
        return record

    def fetch(self, n: int) -> list[neo4j.Record]:
        """The next n records, or all remaining ones if there are fewer."""
        self._check_open()
        end = min(self._position + max(n, 0), self._row_count)
        found: list[neo4j.Record] = []
        while self._position < end:
            place = self._position - self._block_start
            if not 0 <= place < len(self._block):
                self._read_block()
                place = 0
            some = self._block[place : place + end - self._position]
            self._position += len(some)
            found += some
        return found

    @overload
    def single(self, strict: Literal[True]) -> neo4j.Record: ...
    @overload
    def single(self, strict: bool = False) -> neo4j.Record | None: ...
    def single(self, strict: bool = False) -> neo4j.Record | None:
        """The single remaining record; discards all others.

        Args:
            strict: True to raise unless exactly one record remains. Otherwise returns None for no
                record, and the first with a warning for several.

        Raises:
            neo4j.exceptions.ResultNotSingleError: With ``strict``, if not exactly one remains.
        """
        self._check_open()
        left = self._row_count - self._position
        found = self.fetch(1)
        self._position = self._row_count
        if left == 1:
            return found[0]
        if strict:
            from neo4j.exceptions import ResultNotSingleError

            raise ResultNotSingleError(self, f"exactly one row was asked for, there are {left:,}")
        if left:
            warnings.warn(f"one row was asked for, there are {left:,}", stacklevel=2)
        return found[0] if found else None

    # -------------------------------------------------------------- all unread rows at once
    def value(self, key: int | str = 0, default: Any = None) -> list[Any]:
        """The unread values of a column, by name or position; ``default`` if it does not exist."""
        self._check_open()
        place = self._place(key)
        if place is None:
            return [default] * (self._row_count - self._take_rest())
        return self._gather(lambda start, stop: self._rows.column(place, start, stop))

    def values(self, *keys: int | str) -> list[list[Any]]:
        """The unread rows as lists, with all columns or those named.

        Raises:
            IndexError: A position is out of bounds. (An unknown name gives None.)
        """
        self._check_open()
        places = [self._place_or_raise(key) for key in keys] if keys else self._all_places()
        return self._gather(lambda start, stop: self._rows.values(places, start, stop))

    def data(self, *keys: int | str) -> list[dict[str, Any]]:
        """The unread rows as dicts of mostly plain values, as ``neo4j.Record.data`` does."""
        self._check_open()
        places = [self._place_or_raise(key) for key in keys] if keys else self._all_places()
        names = [key if isinstance(key, str) else self.keys()[key] for key in keys]
        return self._gather(
            lambda start, stop: self._rows.data(names or self.keys(), places, start, stop)
        )

    def graph(self) -> Graph:
        """All nodes and relationships of the result, of read and unread rows."""
        self._check_open()
        with self._timed():
            return self._rows.graph()

    def to_arrow(
        self, nodes: EntityForm = "struct", *, dictionary_strings: bool = False
    ) -> pa.Table:
        """The unread rows as an Arrow table, without copying numbers.

        A path is a struct of its nodes and relationships. A column that no Arrow type holds, such
        as one of numbers and strings, becomes Cypher text; the field's metadata says so.

        Args:
            nodes: ``struct`` makes a node a struct of element_id, labels and properties, and a
                relationship one of element_id, type, start, end and properties; ``id`` gives their
                element ids, ``index`` their dense indexes on the device.
            dictionary_strings: True to keep strings encoded with the graph's dictionary.

        Raises:
            ConfigurationError: ``nodes`` is unknown, or ``index`` where Neo4j answered.
        """
        from gpugda.result.arrow import check_form

        check_form(nodes)
        self._check_open()
        with self._timed():
            table = self._rows.arrow(self._position, nodes, dictionary_strings)
        self._take_rest()
        return table

    def to_polars(self, nodes: EntityForm = "struct") -> pl.DataFrame:
        """The unread rows as a Polars data frame; see `to_arrow`.

        Raises:
            ConfigurationError: Polars is not installed, or as `to_arrow`.
        """
        try:
            import polars as pl
        except ImportError as error:
            raise ConfigurationError(
                "to_polars() needs Polars, which is not installed: pip install gpugda[polars]"
            ) from error
        frame = pl.from_arrow(self.to_arrow(nodes))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def to_df(self, expand: bool = False, parse_dates: bool = False) -> pd.DataFrame:
        """The unread rows as a pandas data frame.

        Args:
            expand: True to spread nodes, relationships, lists and maps over several columns, named
                as the Neo4j driver names them.
            parse_dates: True to convert columns of dates or datetimes to pandas timestamps.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        from gpugda.result.frames import data_frame, expanded_frame, with_timestamps

        self._check_open()
        begin = self._position
        try:
            if expand:
                frame = expanded_frame(self.keys(), self.values())
            else:
                with self._timed(), collections_rare():
                    columns = self._rows.frame_columns(begin)
                frame = data_frame(self.keys(), columns)
                self._take_rest()
            return with_timestamps(frame) if parse_dates else frame
        except ConfigurationError:
            self._position = begin  # the rows were not returned
            raise

    def to_parquet(self, path: str | os.PathLike[str], nodes: EntityForm = "struct") -> None:
        """Writes the unread rows as a Parquet file; see `to_arrow`.

        Raises:
            ConfigurationError: As `to_arrow`.
            SourceError: The file cannot be written.
        """
        from gpugda.result.parquet import write_table

        write_table(self.to_arrow(nodes), path)

    def to_networkx(
        self, *, id: str | None = None, labels: str = "labels", type: str = "type"
    ) -> networkx.MultiDiGraph[Any]:
        """All nodes and relationships of the result as a ``networkx.MultiDiGraph``.

        Properties become attributes, element ids become keys of edges. The nodes are those of
        `graph`; ends of relationships have the labels and properties that the result holds.

        Args:
            id: Property whose values identify the nodes; default their element ids.
            labels: Name of the attribute with a node's labels, a list.
            type: Name of the attribute with an edge's type.

        Raises:
            ConfigurationError: NetworkX is not installed, a node lacks the property ``id`` or
                shares its value, or a property has the name of an attribute.
        """
        from gpugda.result.networkx_graph import networkx_of_entities

        return networkx_of_entities(self.graph(), id, labels, type)

    def to_eager_result(self) -> neo4j.EagerResult:
        """The unread records, the summary and the keys; consumes the result.

        The driver's ``execute_query`` returns the same class, which can be unpacked in this order.
        The summary is gpugda's own.
        """
        from neo4j import EagerResult

        records, keys = list(self), list(self.keys())
        make: Callable[..., EagerResult] = EagerResult  # annotated with the driver's summary only
        return make(records=records, summary=self.consume(), keys=keys)

    def plain_blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """Yields the unread rows in blocks, without classes of the neo4j driver.

        Nodes are `NodeValue`, relationships `RelationshipValue`, paths `PathValue`; text and JSON
        are made from them.
        """
        self._check_open()
        blocks = self._rows.plain_blocks(self._take_rest(), self._row_count)
        while True:
            with self._timed():
                block = next(blocks, None)
            if block is None:
                return
            yield block

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows for readers of the Arrow C stream, such as Polars and DuckDB.

        The rows stay unread, as such readers may ask for them several times.
        """
        table = self._rows.arrow(0, "struct", False)
        return table.__arrow_c_stream__(requested_schema)

    # -------------------------------------------------------------- for people
    def __str__(self) -> str:
        """The first rows as a table, and how many there are; no row is consumed by it."""
        from gpugda.result.text_table import text_table

        rows = self._first_rows()
        more = self._row_count - len(rows)
        rest = f"… and {more:,} more rows\n" if more > 0 else ""
        asked = self._summary.asked_plan
        plan = "" if asked is None else f"{asked}\n"
        return f"{text_table(self.keys(), rows)}{rest}{plan}{self._summary.headline()}"

    def _first_rows(self) -> list[tuple[Any, ...]]:
        blocks = self._rows.plain_blocks(0, min(SHOWN_ROWS, self._row_count))
        return [row for block in blocks for row in block]

    def __repr__(self) -> str:
        count = self._row_count
        unit = "row" if count == 1 else "rows"
        state = "consumed" if self._consumed else f"{count - self._position:,} unread"
        return (
            f"<Result of {count:,} {unit} ({state}), keys={self.keys()!r}, "
            f"engine={self._summary.engine!r}>"
        )

    def _repr_html_(self) -> str:
        from gpugda.result.text_table import html_table

        table = html_table(self.keys(), self._first_rows(), self._row_count, self._summary)
        asked = self._summary.asked_plan
        return table if asked is None else f"{asked._repr_html_()}{table}"

    # -------------------------------------------------------------- internals
    def _next_record(self) -> neo4j.Record | None:
        place = self._position - self._block_start
        if not 0 <= place < len(self._block):
            if self._position >= self._row_count:
                return None
            self._read_block()
            place = 0
        self._position += 1
        return self._block[place]

    def _read_block(self) -> None:
        """Makes the next block of records; the first one is small, to return early."""
        start = self._position
        stop = min(start + self._block_rows, self._row_count)
        with self._timed(), collections_rare():
            self._block = self._rows.records(start, stop)
        self._block_start = start
        self._block_rows = min(4 * self._block_rows, MAX_BLOCK_ROWS)

    def _gather(self, make: Callable[[int, int], list[_Made]]) -> list[_Made]:
        """The items that ``make`` returns for the unread rows, called per block."""
        found: list[_Made] = []
        with self._timed():
            while self._position < self._row_count:
                stop = min(self._position + MAX_BLOCK_ROWS, self._row_count)
                with collections_rare():
                    found += make(self._position, stop)
                self._position = stop
        return found

    def _take_rest(self) -> int:
        start = self._position
        self._position = self._row_count
        return start

    def _all_places(self) -> list[int | None]:
        return list(range(len(self._rows.names)))

    def _place(self, key: int | str) -> int | None:
        if self._position == self._row_count:
            return None  # as in the driver, which looks the column up in its records
        names = self._rows.names
        if isinstance(key, str):
            return names.index(key) if key in names else None
        if not isinstance(key, int):
            raise TypeError(f"a column is named by text or position, not by {key!r}")
        return key if 0 <= key < len(names) else None

    def _place_or_raise(self, key: int | str) -> int | None:
        place = self._place(key)
        if place is None and isinstance(key, int) and self._position < self._row_count:
            raise IndexError(key)
        return place

    def _check_open(self) -> None:
        if self._consumed:
            from neo4j.exceptions import ResultConsumedError

            raise ResultConsumedError(
                self, "the result was consumed: read its rows before calling consume()"
            )

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.perf_counter()
        try:
            yield
        finally:
            self._summary.add_time("materialise", time.perf_counter() - begin)
