"""Replaces known values compared with ``id()`` and ``elementId()`` by indexes.

A value that is no existing id becomes -1, which is no index. A value of another type than the
function's result stays as it is, so that equality gives the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import ColumnKind
from gpugda.values import is_number

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["index_of_element_id", "index_of_id"]


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
