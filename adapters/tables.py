"""Data frames, Arrow tables, dicts of columns and files of them as a graph."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError
from gpugda.ports import GraphBatches

from .column_names import ColumnNames, GivenNames
from .labels import split_labels
from .table_arguments import GivenTable, given_tables
from .table_batches import Ends, end_nodes, node_batch, relationship_batch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.batches import NodeBatch, RelationshipBatch
    from gpugda.ports import Progress

    from .labels import LabelSet
    from .table_columns import TableColumns

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
        id: Name of the column of node ids; None, as for all that follow: one of the usual names.
        labels: Name of the column of labels; or, if no table has it, the labels of all nodes.
        source: Name of the column of start node ids.
        target: Name of the column of end node ids.
        type: Name of the column of types; or, if no table has it, the type of all relationships.
        decimals: ``exact``: decimal numbers have to be integers; ``float``: they become floats.
        keep_ids: True if the ids become a property, too; None: unless their column's name begins
            with ``_``.
        name: Name for display.

    Raises:
        ConfigurationError: The tables are given in none of these forms.
        SourceError: There is no such file.
    """

    def __init__(
        self,
        nodes: Any = None,
        relationships: Any = None,
        *,
        id: str | None = None,
        labels: str | None = None,
        source: str | None = None,
        target: str | None = None,
        type: str | None = None,
        decimals: str = "exact",
        keep_ids: bool | None = None,
        name: str = "tables",
    ) -> None:
        if decimals not in ("exact", "float"):
            raise ConfigurationError(f"decimals={decimals!r}: choose 'exact' or 'float'")
        self._has_nodes = nodes is not None
        self._nodes = given_tables(nodes, "nodes")
        self._relationships = given_tables(relationships, "relationships")
        self._given = GivenNames(id, labels, source, target, type, keep_ids)
        self._floats = decimals == "float"
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
        opened = {each: each.open() for each in (*self._nodes, *self._relationships)}
        names = {
            **{each: self._given.of_nodes(opened[each].columns, each.key) for each in self._nodes},
            **{
                each: self._given.of_relationships(opened[each].columns, each.key)
                for each in self._relationships
            },
        }
        self._type_texts(opened, names)
        if self._floats:
            opened = {each: table.with_floats() for each, table in opened.items()}
        kind = _constant(self._given.type, self._relationships, opened)
        relationships = (
            relationship_batch(opened[each], names[each], self._ends(each, kind))
            for each in self._relationships
        )
        if self._has_nodes:
            labels = split_labels(_constant(self._given.labels, self._nodes, opened))
            nodes = (
                node_batch(
                    opened[each],
                    names[each],
                    split_labels(each.key) or labels,
                    each.key if self._by_label else "",
                )
                for each in self._nodes
            )
            yield GraphBatches(nodes, relationships)
            return
        batches = list(relationships)
        yield GraphBatches(self._end_nodes(batches), batches)

    def _end_nodes(self, batches: list[RelationshipBatch]) -> list[NodeBatch]:
        names = self._given.of_nodes(())
        spaces = {space for each in self._relationships for space in each.ends}
        labels: dict[str, LabelSet] = {space: split_labels(space) for space in spaces}
        return end_nodes(batches, names, {"": split_labels(self._given.labels or ""), **labels})

    def _type_texts(
        self, opened: dict[GivenTable, TableColumns], names: dict[GivenTable, ColumnNames]
    ) -> None:
        """Infers the types of text files' columns; ids get one type per id space."""
        if not any(table.is_text for table in opened.values()):
            return
        from .table_files import are_integers, with_types  # tables in memory do not need it

        spaces = {each: self._spaces(each, names[each]) for each in opened}
        integers = {
            space: are_integers(
                (opened[each].plain(name), opened[each].is_text)
                for each, by_name in spaces.items()
                for name, mine in by_name.items()
                if mine == space and name in opened[each].columns
            )
            for space in {space for by_name in spaces.values() for space in by_name.values()}
        }
        for each, table in opened.items():
            if table.is_text:
                ids = {name: integers[space] for name, space in spaces[each].items()}
                texts = names[each].type if each in self._relationships else names[each].labels
                opened[each] = with_types(table, ids, (texts,))

    def _spaces(self, each: GivenTable, names: ColumnNames) -> dict[str, str]:
        """Id space by name of the id column."""
        if each in self._nodes:
            return {names.id: each.key if self._by_label else ""}
        ends = self._ends(each)
        return {names.source: ends.source_space, names.target: ends.target_space}

    def _ends(self, each: GivenTable, kind: str = "") -> Ends:
        return Ends(each.key or kind or each.default_type, *each.ends)

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


def _constant(
    name: str | None, tables: list[GivenTable], opened: dict[GivenTable, TableColumns]
) -> str:
    """The labels or type that a user gave where a column's name is expected, or none."""
    is_column = any(name in opened[each].columns or each.key for each in tables)
    return "" if name is None or is_column else name
