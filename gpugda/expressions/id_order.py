"""Ids of nodes and relationships: their order, and known ones as indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.values import Entity, Path, is_number

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph


__all__ = ["by_ids", "index_of_element_id", "index_of_id"]


def index_of_element_id(graph: DataGraph, kind: ColumnKind, text: Any) -> Any:
    """The index of the node (or relationship) with this element id; -1 if there is none.

    Null stays null, and a list becomes the list of its items' indexes.
    """
    if isinstance(text, list):
        return [index_of_element_id(graph, kind, item) for item in text]
    if isinstance(text, str):
        return graph.index_of_element_id(text, of_nodes=kind is ColumnKind.NODE)
    # A number must not be mistaken for an index.
    return -1 if is_number(text) else text


def index_of_id(graph: DataGraph, kind: ColumnKind, number: Any) -> Any:
    """The index of the node (or relationship) with this id; -1 if there is none.

    Null stays null, and a list becomes the list of its items' indexes.
    """
    if isinstance(number, list):
        return [index_of_id(graph, kind, item) for item in number]
    if not is_number(number):
        return number
    if isinstance(number, float) and not number.is_integer():
        return -1
    return graph.index_of_id(int(number), of_nodes=kind is ColumnKind.NODE)


def by_ids(operand: Operand, graph: DataGraph | None) -> Operand:
    """The operand with ids in place of indexes; use it only for ordering.

    Args:
        operand: Values, possibly lists and maps that contain relationships.
        graph: Graph of the relationships; None if there are none.
    """
    if isinstance(operand, Constant) or graph is None or graph.external_ids is None:
        return operand
    if operand.kind is ColumnKind.RELATIONSHIP:
        return _relationships_by_ids(operand, graph)
    if operand.kind is ColumnKind.OBJECT and operand.dictionary:
        return _objects_by_ids(operand, graph)
    return operand


def _relationships_by_ids(column: Column, graph: DataGraph) -> Column:
    if column.valid is None:
        return Column(column.kind, graph.ids_of(column.values, of_nodes=False))
    # The value of a null row is no valid index.
    numbers = np.zeros(len(column), dtype=np.int64)
    numbers[column.valid] = graph.ids_of(column.values[column.valid], of_nodes=False)
    return Column(column.kind, numbers, column.valid)


def _objects_by_ids(column: Column, graph: DataGraph) -> Column:
    dictionary = column.dictionary
    assert dictionary is not None
    used, places = used_codes(column.values, len(dictionary))
    entries = dictionary.values(used.astype(np.int32))
    if not any(map(_holds_relationship, entries)):
        return column
    replaced = ObjectDictionary([_by_id(entry, graph) for entry in entries])
    return Column(column.kind, places.astype(np.int32), column.valid, replaced)


def _holds_relationship(value: Any) -> bool:
    if isinstance(value, Entity):
        return not value.is_node
    if isinstance(value, dict):
        return any(map(_holds_relationship, value.values()))
    if isinstance(value, Path):
        return len(value.relationships) > 0
    return isinstance(value, list) and any(map(_holds_relationship, value))


def _by_id(value: Any, graph: DataGraph) -> Any:
    if isinstance(value, Entity):
        return value if value.is_node else Entity(False, graph.id_of(value.index, of_nodes=False))
    if isinstance(value, dict):
        return {key: _by_id(item, graph) for key, item in value.items()}
    if isinstance(value, list):
        return [_by_id(item, graph) for item in value]
    if isinstance(value, Path):
        return Path(value.nodes, tuple(_by_id(each, graph) for each in value.relationships))
    return value
