"""Finds the nodes and relationships that a result returns as whole entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.values.columns import ColumnKind
from gpugda.expressions.lists import (
    PathRows,
    nodes_of_paths,
    only_used,
    relationships_of_paths,
)
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.values.columns import Column
    from gpugda.execute.result_table import ResultTable

__all__ = ["entities_in"]


def entities_in(table: ResultTable) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Distinct node and relationship indexes in the table, also in lists, maps and paths.

    End nodes of relationships are not included: a result holds only their ids.
    """
    nodes, relationships = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    within: set[Entity] = set()
    waiting = list(table.columns)
    while waiting:
        column = waiting.pop()
        if column.kind is ColumnKind.NODE or column.kind is ColumnKind.RELATIONSHIP:
            found = column.values if column.valid is None else column.values[column.valid]
            (nodes if column.kind is ColumnKind.NODE else relationships).append(
                unique_values(found)
            )
        elif column.kind is ColumnKind.OBJECT:
            lists, _ = only_used(_without_nulls(column))
            if isinstance(lists, PathRows):
                waiting += [nodes_of_paths(lists).elements, relationships_of_paths(lists).elements]
            elif lists is not None:
                waiting.append(lists.elements)
            else:
                within.update(_entities(_used_values(column)))
    nodes.append(_indexes(within, of_nodes=True))
    relationships.append(_indexes(within, of_nodes=False))
    return unique_values(np.concatenate(nodes)), unique_values(np.concatenate(relationships))


def _used_values(column: Column) -> list[Any]:
    if not column.dictionary:
        return []
    codes = column.values if column.valid is None else column.values[column.valid]
    return column.dictionary.values(unique_values(codes).astype(np.int32))


def _without_nulls(column: Column) -> Column:
    return column if column.valid is None else column.take(np.flatnonzero(column.valid))


def _indexes(entities: set[Entity], *, of_nodes: bool) -> NDArray[np.uint32]:
    found = [each.index for each in entities if each.is_node is of_nodes]
    return np.array(found, dtype=np.uint32)


def _entities(value: Any) -> Iterator[Entity]:
    if isinstance(value, Entity):
        yield value
    elif isinstance(value, Path):
        yield from value.entities
    elif isinstance(value, list):
        for item in value:
            yield from _entities(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _entities(item)
