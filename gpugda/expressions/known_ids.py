"""``id()`` and ``elementId()`` against known values: the indexes that these stand for.

A value that is nothing's id becomes -1, which no index is, or stays what it is where it is not of
the function's type, so that equality still says what it says of such values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.columns import ColumnKind
from gpugda.values import is_number

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["index_of_element_id", "index_of_id"]


def index_of_element_id(graph: DataGraph, kind: ColumnKind, text: Any) -> Any:
    """The node (or relationship) that has this element id; -1 if there is none.

    Null stays null, and a list becomes the list of its items' indexes.
    """
    if isinstance(text, list):
        return [index_of_element_id(graph, kind, item) for item in text]
    if isinstance(text, str):
        return graph.index_of_element_id(text, of_nodes=kind is ColumnKind.NODE)
    # A number must not be taken for an index.
    return -1 if is_number(text) else text


def index_of_id(graph: DataGraph, kind: ColumnKind, number: Any) -> Any:
    """The node (or relationship) that has this id; -1 if there is none.

    Null stays null, and a list becomes the list of its items' indexes.
    """
    if isinstance(number, list):
        return [index_of_id(graph, kind, item) for item in number]
    if not is_number(number):
        return number
    if isinstance(number, float) and not number.is_integer():
        return -1
    return graph.index_of_id(int(number), of_nodes=kind is ColumnKind.NODE)
