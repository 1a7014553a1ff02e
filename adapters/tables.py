"""Data frames, Arrow tables, dicts of columns and files of them as a graph."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError
from gpugda.ports import GraphBatches

from .labels import split_labels
from .table_arguments import GivenTable, given_tables
from .table_batches import ColumnNames, Ends, end_nodes, node_batch, relationship_batch
from .table_columns import TableColumns, open_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.ports import Progress

__all__ = ["TablesSource"]


class TablesSource:
    """A graph in tables: data frames of pandas or Polars, Arrow tables, dicts of columns, files.

    Args:
        nodes: A table, a list of tables, or tables by label (a mapping, or pairs of label and
            table), with a column of ids (integers or text, unique in all tables) and optionally one
            of labels: text (``"Person"``, ``"Person:Actor"``) or a list of texts. All columns but
            that of labels are properties, including the ids. None: the nodes that relationships
            name.
        relationships: Tables with columns of ids of both ends, and their types in a column or as
            keys. A key ``(label, type, label)`` names the tables of nodes to which the ids refer;
            ids then need to be unique within a label only. The other columns are properties.
        id: Name of the column of node ids.
        labels: Name of the column of labels.
        source: Name of the column of start node ids.
        target: Name of the column of end node ids.
        type: Name of the column of types.
        keep_ids: True if the ids become a property, too.
        name: Name for display.

    Raises:
        ConfigurationError: The tables are given in none of these forms.
    """

    def __init__(
        self,
        nodes: Any = None,
        relationships: Any = None,
        *,
        id: str = "id",
        labels: str = "labels",
        source: str = "source",
        target: str = "target",
        type: str = "type",
        keep_ids: bool = True,
        name: str = "tables",
    ) -> None:
        self._has_nodes = nodes is not None
        self._nodes = given_tables(nodes, "nodes")
        self._relationships = given_tables(relationships, "relationships")
        self._names = ColumnNames(id, labels, source, target, type, keep_ids)
        self._by_label = any(each.ends for each in self._relationships)
        self._check_ends()
        self._name = name

    @property
    def name(self) -> str:
        """Name for display: ``tables`` unless named."""
        return self._name

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """One batch per table; all files are read first.

        Raises:
            SourceError: A column is missing or has wrong values; names table, column and row.
        """
        del progress  # the builder of the graph counts rows
        opened = {each: _open(each) for each in (*self._nodes, *self._relationships)}
        self._type_texts(opened)
        relationships = (
            relationship_batch(opened[each], self._names, _ends(each, by_label=self._by_label))
            for each in self._relationships
        )
        if self._has_nodes:
            yield GraphBatches(
                (self._node_batch(each, opened) for each in self._nodes), relationships
            )
            return
        batches = list(relationships)
        yield GraphBatches(self._end_nodes(batches), batches)

    def _node_batch(self, each: GivenTable, opened: dict[GivenTable, TableColumns]) -> NodeBatch:
        space = each.key if self._by_label else ""
        return node_batch(opened[each], self._names, split_labels(each.key), space)

    def _end_nodes(self, batches: list[RelationshipBatch]) -> list[NodeBatch]:
        spaces = {space for each in self._relationships for space in each.ends}
        return end_nodes(batches, self._names, {space: split_labels(space) for space in spaces})

    def _type_texts(self, opened: dict[GivenTable, TableColumns]) -> None:
        """Infers the types of text files' columns; ids get one type per id space."""
        if not any(each.is_text_file for each in opened):
            return
        from .table_files import are_integers, with_types  # tables in memory do not need it

        spaces = {each: self._spaces(each) for each in opened}
        names = {space for by_name in spaces.values() for space in by_name.values()}
        integers = {
            space: are_integers(
                (opened[each].plain(name), each.is_text_file)
                for each, by_name in spaces.items()
                for name, mine in by_name.items()
                if mine == space and name in opened[each].columns
            )
            for space in names
        }
        for each in opened:
            if each.is_text_file:
                ids = {name: integers[space] for name, space in spaces[each].items()}
                texts = (
                    (self._names.type,) if each in self._relationships else (self._names.labels,)
                )
                opened[each] = with_types(opened[each], ids, texts)

    def _spaces(self, each: GivenTable) -> dict[str, str]:
        """Id space by name of the id column."""
        if each in self._nodes:
            return {self._names.id: each.key if self._by_label else ""}
        ends = _ends(each, by_label=self._by_label)
        return {self._names.source: ends.source_space, self._names.target: ends.target_space}

    def _check_ends(self) -> None:
        if not self._by_label:
            return
        for each in self._relationships:
            if not each.ends:
                raise ConfigurationError(
                    f"relationships: {each.key!r} says not whose ids its ends are, while others "
                    f"do: write ('LABEL', {each.key or 'TYPE'!r}, 'LABEL')"
                )
        labels = [each.key for each in self._nodes]
        for each in self._relationships if self._has_nodes else ():
            for label in each.ends:
                if label not in labels:
                    raise ConfigurationError(
                        f"relationships: there is no table of nodes {label!r} for {each.key!r}; "
                        f"there are {', '.join(map(repr, labels)) or 'none'}"
                    )


def _open(each: GivenTable) -> TableColumns:
    if each.is_file:
        from .table_files import read_table  # tables in memory do not need it

        return read_table(each.table)
    return open_table(each.table, each.origin)


def _ends(each: GivenTable, *, by_label: bool) -> Ends:
    return Ends(each.key, *each.ends) if by_label else Ends(each.key)
