"""Results that the database answered itself: the driver's own records, behind the same methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpugda.data.columns import Column, ColumnKind, column_from_values
from gpugda.data.dictionaries import ObjectDictionary
from gpugda.data.empty import empty_graph
from gpugda.execute.result_table import ResultTable
from gpugda.result.entities import NodeValue, RelationshipValue
from gpugda.result.from_rows import object_column
from gpugda.result.result import Result
from gpugda.result.rows import BLOCK_ROWS
from gpugda.result.text import format_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import neo4j
    from neo4j.graph import Graph

    from gpugda.ports import NativeAnswer
    from gpugda.result.arrow import EntityForm
    from gpugda.result.summary import Summary

__all__ = ["NativeResult"]

_PLAIN = frozenset({bool, int, float, str, type(None)})


class NativeResult(Result):
    """A `Result` of records that came from the driver; they are given out as they are.

    Args:
        answer: What the database answered.
        summary: What is known about the run.
    """

    def __init__(self, answer: NativeAnswer, summary: Summary) -> None:
        super().__init__(None, summary, names=answer.keys, row_count=len(answer.records))
        self._records = answer.records

    @property
    def table(self) -> ResultTable:
        """All rows as columns, made when first asked for; nodes are plain data there."""
        if self._table is None:
            columns = [
                _column([_plain(record[place]) for record in self._records])
                for place in range(len(self._names))
            ]
            graph = empty_graph()
            self._table = ResultTable(self._names, tuple(columns), self._row_count, graph)
        return self._table

    def graph(self) -> Graph:
        """All nodes and relationships of the result."""
        from neo4j.graph import Graph

        self._check_open()
        found = next(_graphs_in(self._records), None)
        return Graph() if found is None else found

    def to_arrow(
        self, nodes: EntityForm = "struct", *, dictionary_strings: bool = False
    ) -> pa.Table:
        """As `Result.to_arrow`; what no Arrow type holds, such as a path, becomes Cypher text."""
        from gpugda.result.arrow import MIXED, arrow_table, check_form

        check_form(nodes)
        self._check_open()
        start = self._take_rest()
        with self._timed():
            table = arrow_table(self.table, start, "struct", dictionary_strings)
            for place, column in enumerate(self.table.columns):
                values = _entities_of(column)
                if values is not None:
                    array, mixed = _entity_array(values[start:], nodes)
                    metadata = MIXED if mixed else None
                    field = pa.field(self._names[place], array.type, metadata=metadata)
                    table = table.set_column(place, field, array)
            return table

    def plain_blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """See `Result.plain_blocks`."""
        self._check_open()
        for start in range(self._take_rest(), self._row_count, BLOCK_ROWS):
            yield self._plain_rows(start, start + BLOCK_ROWS)

    # -------------------------------------------------------------- inside
    def _plain_rows(self, start: int, stop: int) -> list[tuple[Any, ...]]:
        return [tuple(map(_plain, record)) for record in self._records[start:stop]]

    def _read_block(self) -> None:
        # Records are tuples of their values.
        self._block = self._records
        self._block_start = 0

    def _record_maker(self) -> Callable[[tuple[Any, ...]], neo4j.Record]:
        return _itself


def _itself(record: Any) -> neo4j.Record:
    given: neo4j.Record = record
    return given


# ------------------------------------------------------------------ values
def _plain(value: Any) -> Any:
    """The value with nodes, relationships and paths as plain data."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return _plain_entity(value)


def _plain_entity(value: Any) -> Any:
    from neo4j.graph import Node, Path, Relationship

    if isinstance(value, Node):
        return NodeValue(value.element_id, tuple(value.labels), dict(value.items()))
    if isinstance(value, Relationship):
        ends = ["" if node is None else node.element_id for node in value.nodes]
        properties = dict(value.items())
        return RelationshipValue(value.element_id, value.type, ends[0], ends[1], properties)
    if isinstance(value, Path):
        parts = [_plain_entity(value.start_node)]
        for relationship, node in zip(value.relationships, value.nodes[1:], strict=True):
            parts += [_plain_entity(relationship), _plain_entity(node)]
        return parts
    return value


def _graphs_in(values: Sequence[Any]) -> Iterator[Graph]:
    """The graph of each node, relationship or path in the values; those of one result are one."""
    from neo4j.graph import Entity, Path

    for value in values:
        if isinstance(value, Entity | Path):
            yield value.graph
        elif isinstance(value, dict):
            yield from _graphs_in(list(value.values()))
        elif isinstance(value, list | tuple):
            yield from _graphs_in(value)


# ------------------------------------------------------------------ columns
def _column(values: list[Any]) -> Column:
    kinds = set(map(type, values))
    if kinds <= _PLAIN and len(kinds - {type(None)}) <= 1:
        return column_from_values(values)
    return object_column(values)


def _entities_of(column: Column) -> list[Any] | None:
    """The values of a column of nodes, or of relationships; None for other columns."""
    if column.kind is not ColumnKind.OBJECT or not isinstance(column.dictionary, ObjectDictionary):
        return None
    values = column.dictionary.values(column.values)
    kinds = {type(value) for value in values} - {type(None)}
    return values if kinds in ({NodeValue}, {RelationshipValue}) else None


def _entity_array(values: Sequence[Any], form: EntityForm) -> tuple[pa.Array, bool]:
    if form != "struct":
        ids = [None if value is None else value.element_id for value in values]
        return pa.array(ids, pa.large_string()), False
    try:
        return pa.array([None if value is None else _struct(value) for value in values]), False
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        texts = [None if value is None else format_value(value) for value in values]
        return pa.array(texts, pa.large_string()), True


def _struct(value: NodeValue | RelationshipValue) -> dict[str, Any]:
    if isinstance(value, NodeValue):
        facts: dict[str, Any] = {"element_id": value.element_id, "labels": list(value.labels)}
    else:
        facts = {
            "element_id": value.element_id,
            "type": value.type,
            "start": value.start,
            "end": value.end,
        }
    return {**facts, "properties": value.properties}
