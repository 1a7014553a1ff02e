"""Label predicates, and functions that read ids, labels, types and ends of entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary, encode_strings
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.operands import Constant, Operand
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.expressions.environment import Environment
    from gpugda.expressions.text_columns import Cache


__all__ = ["ENTITY_KINDS", "FUNCTIONS", "label_flags", "nodes_with_labels", "property_of_entities"]


def property_of_entities(subject: Column, key: str, environment: Environment) -> Operand:
    """The property; null where there is none."""
    graph = environment.graph
    assert graph is not None
    node = subject.kind is ColumnKind.NODE
    column = (graph.node_properties if node else graph.relationship_properties).get(key)
    if column is None or len(column) == 0:
        return Constant(None)
    if isinstance(column.dictionary, StringDictionary):
        column.dictionary.stored = True
    elif isinstance(column.dictionary, ObjectDictionary):
        column.dictionary.mark_stored()
    if environment.has_all(subject):
        return column
    if subject.valid is None:
        return column.take(subject.values)
    # The value of a null row is no valid index.
    found = column.take(np.where(subject.valid, subject.values, 0))
    valid = subject.valid if found.valid is None else subject.valid & found.valid
    return Column(found.kind, found.values, valid, found.dictionary)


def label_flags(
    graph: DataGraph, column: Column, labels: ast.LabelExpression, environment: Environment
) -> NDArray[np.bool_]:
    """Per row, True if the node's labels or the relationship's type satisfy the expression."""
    codes: NDArray[Any]
    if column.kind is ColumnKind.NODE:
        codes, names = graph.label_codes()
    else:
        codes, names = graph.relationship_types(), tuple((name,) for name in graph.types.names)
    satisfied = np.array([_holds(labels, each) for each in names], dtype=np.bool_)
    if not environment.has_all(column):
        codes = _entries(codes, column)
    found: NDArray[np.bool_] = satisfied[codes]
    return found


def nodes_with_labels(graph: DataGraph, labels: Sequence[ast.LabelExpression]) -> NDArray[np.bool_]:
    """Per node of the graph, True if it satisfies all expressions."""
    codes, names = graph.label_codes()
    satisfied = [all(_holds(each, found) for each in labels) for found in names]
    flags: NDArray[np.bool_] = np.array(satisfied, dtype=np.bool_)[codes]
    return flags


def _holds(labels: ast.LabelExpression, names: Sequence[str]) -> bool:
    if isinstance(labels, ast.LabelName):
        return labels.name in names
    if isinstance(labels, ast.LabelWildcard):
        return len(names) > 0
    if isinstance(labels, ast.LabelNot):
        return not _holds(labels.operand, names)
    if isinstance(labels, ast.LabelAnd):
        return all(_holds(operand, names) for operand in labels.operands)
    if isinstance(labels, ast.LabelOr):
        return any(_holds(operand, names) for operand in labels.operands)
    raise UnsupportedQueryError(
        "dynamic labels are not supported by this engine", construct="dynamic label"
    )


# ------------------------------------------------------------------ functions
def _id(graph: DataGraph, column: Column, cache: Cache) -> Column:
    is_node = column.kind is ColumnKind.NODE
    if column.valid is None:
        return Column(ColumnKind.INTEGER, graph.ids_of(column.values, of_nodes=is_node))
    # The value of a null row is no valid index.
    numbers = np.zeros(len(column), dtype=np.int64)
    numbers[column.valid] = graph.ids_of(column.values[column.valid], of_nodes=is_node)
    return Column(ColumnKind.INTEGER, numbers, column.valid)


def _element_id(graph: DataGraph, column: Column, cache: Cache) -> Column:
    # The value of a null row is no valid index.
    indexes = column.values if column.valid is None else column.values[column.valid]
    used, places = np.unique(indexes, return_inverse=True)
    is_node = column.kind is ColumnKind.NODE
    name = graph.element_id_of_node if is_node else graph.element_id_of_relationship
    texts = pa.array([name(index) for index in used.tolist()], type=pa.large_string())
    codes, dictionary = encode_strings(texts)
    found = codes[places.reshape(-1)]
    if column.valid is None:
        return Column(ColumnKind.STRING, found, None, dictionary)
    all_codes = np.zeros(len(column), dtype=codes.dtype)
    all_codes[column.valid] = found
    return Column(ColumnKind.STRING, all_codes, column.valid, dictionary)


def _labels(graph: DataGraph, column: Column, cache: Cache) -> Column:
    codes, label_sets = graph.label_codes()
    if "label sets" not in cache:
        cache["label sets"] = ObjectDictionary([list(names) for names in label_sets])
    dictionary = cache["label sets"]
    return Column(ColumnKind.OBJECT, _entries(codes, column), column.valid, dictionary)


def _type(graph: DataGraph, column: Column, cache: Cache) -> Column:
    if "type names" not in cache:
        names = pa.array(graph.types.names, type=pa.large_string())
        cache["type names"] = encode_strings(names)
    codes, dictionary = cache["type names"]
    types = _entries(graph.relationship_types(), column)
    found = codes[types] if len(codes) else types.astype(np.int32)
    return Column(ColumnKind.STRING, found, column.valid, dictionary)


def _end(graph: DataGraph, column: Column, cache: Cache) -> Column:
    nodes = _entries(graph.outgoing.neighbours, column)
    return Column(ColumnKind.NODE, nodes.astype(np.uint32), column.valid)


def _start(graph: DataGraph, column: Column, cache: Cache) -> Column:
    nodes = _entries(graph.start_nodes(), column)
    return Column(ColumnKind.NODE, nodes.astype(np.uint32), column.valid)


def _entries(array: NDArray[Any], column: Column) -> NDArray[Any]:
    """The entry of each row; for null rows that of index 0, since theirs may be out of range."""
    if column.valid is None:
        found: NDArray[Any] = array[column.values]
        return found
    if not len(array):
        return np.zeros(len(column), dtype=array.dtype)
    found = array[np.where(column.valid, column.values, 0)]
    return found


ENTITY_KINDS = (ColumnKind.NODE, ColumnKind.RELATIONSHIP)

FUNCTIONS: dict[str, tuple[tuple[ColumnKind, ...], Callable[[Any, Column, Any], Column]]] = {
    "id": (ENTITY_KINDS, _id),
    "elementid": (ENTITY_KINDS, _element_id),
    "labels": ((ColumnKind.NODE,), _labels),
    "type": ((ColumnKind.RELATIONSHIP,), _type),
    "startnode": ((ColumnKind.RELATIONSHIP,), _start),
    "endnode": ((ColumnKind.RELATIONSHIP,), _end),
}
"""Kinds of columns accepted, and the function, by lower-case name."""
