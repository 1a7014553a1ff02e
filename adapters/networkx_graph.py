"""Graphs of NetworkX, without importing it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpugda.errors import SourceError

from .table_columns import columns_of_rows
from .tables import TablesSource

__all__ = ["NetworkxSource"]

_DEFAULT_TYPE = "RELATED"


class NetworkxSource(TablesSource):
    """Nodes and edges with their attributes; NetworkX's node key becomes the property ``id``.

    An undirected edge becomes one relationship, from the end that NetworkX lists first. Keys of a
    multigraph, unless they are NetworkX's own numbers, become the property ``key``.

    Args:
        graph: A graph of any of NetworkX's four classes.
        labels: Attribute with a node's labels, a text or a list of texts.
        type: Attribute with an edge's type; without it the type is ``RELATED``.

    Raises:
        SourceError: The nodes are neither all integers nor all texts.
    """

    def __init__(self, graph: Any, *, labels: str = "labels", type: str = "type") -> None:
        nodes = columns_of_rows([data for _, data in graph.nodes(data=True)])
        id_name = _free("id", nodes)
        nodes[id_name] = _node_ids(graph)
        edges = [*graph.edges(keys=True, data=True)] if graph.is_multigraph() else None
        if edges is None:
            edges = [
                (source, target, None, data) for source, target, data in graph.edges(data=True)
            ]
        columns = columns_of_rows([_with_key(key, data) for _, _, key, data in edges])
        ends = [_free(name, columns) for name in ("source", "target")]
        columns[ends[0]] = [_plain(edge[0]) for edge in edges]
        columns[ends[1]] = [_plain(edge[1]) for edge in edges]
        super().__init__(
            nodes,
            [(_DEFAULT_TYPE, columns)],
            id=id_name,
            labels=labels,
            source=ends[0],
            target=ends[1],
            type=type,
            keep_ids=id_name == "id",
            name=getattr(graph, "name", "") or "NetworkX graph",
        )


def _node_ids(graph: Any) -> list[Any]:
    ids = [_plain(node) for node in graph.nodes]
    kinds = {type(each).__name__ for each in ids}
    if len(kinds) > 1 or not kinds <= {"int", "str"}:
        raise SourceError(
            f"the nodes of the NetworkX graph are of the types {', '.join(sorted(kinds))}, but ids "
            "are all integers or all texts; networkx.relabel_nodes(graph, str) makes them texts, "
            "networkx.convert_node_labels_to_integers(graph, label_attribute='name') integers"
        )
    return ids


def _plain(node: Any) -> Any:
    """An integer or text of NumPy as Python's, to which it is equal as a node of NetworkX."""
    return node.item() if isinstance(node, np.integer | np.str_) else node


def _with_key(key: object, data: dict[Any, Any]) -> dict[Any, Any]:
    own = key is None or isinstance(key, int) or "key" in data
    return data if own else {"key": key, **data}


def _free(name: str, columns: dict[Any, list[Any]]) -> str:
    while name in columns:
        name = f"_{name}"
    return name
