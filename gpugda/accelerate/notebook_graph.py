"""Draws nodes and relationships in notebooks with neo4j-viz."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError
from gpugda.values import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from neo4j.graph import Graph, Node

__all__ = ["MAX_NODES", "drawing", "html_of", "is_possible"]

_NAMES = ("name", "title", "label", "displayName", "username", "email", "key", "id")
"""Properties that name a node, the first one that it has."""
_RADIUS = (12, 48)

MAX_NODES = 1000
"""Maximum number of nodes; a browser draws more only slowly, and the drawing is unreadable."""


def is_possible() -> bool:
    """True if neo4j-viz is installed."""
    from importlib.util import find_spec

    return find_spec("neo4j_viz") is not None


def drawing(graph: Graph, caption: str | None = None, size: str | None = None) -> Any:
    """Returns the graph as an IPython display object, with a colour per label and a legend.

    Args:
        graph: Nodes and relationships.
        caption: The property that names nodes; by default the first of the usual ones (``name``,
            ``title``, …, ``id``) that a node has, else its labels.
        size: A numeric property that gives the nodes' sizes; by default all are alike.

    Raises:
        ConfigurationError: neo4j-viz is not installed, the graph is empty or too large, or no node
            has the property of ``caption``, or a number as that of ``size``.
    """
    if not is_possible():
        raise ConfigurationError(
            "drawing a graph needs neo4j-viz, which is not installed: pip install gpugda[notebook]"
        )
    if not graph.nodes:
        raise ConfigurationError(
            "the result holds no nodes to draw: return nodes and relationships, as in "
            "MATCH (a)-[r]->(b) RETURN a, r, b."
        )
    if len(graph.nodes) > MAX_NODES:
        raise ConfigurationError(
            f"the result holds {len(graph.nodes):,} nodes, and at most {MAX_NODES:,} are drawn: "
            "give the query a LIMIT."
        )
    _refuse_missing(graph, caption, "caption", lambda value: True)
    _refuse_missing(graph, size, "size", is_number)
    from neo4j_viz.neo4j import from_neo4j

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they concern neo4j-viz and its imports, not the user
        shown = from_neo4j(graph)
        shown.show_legend()
        names = {node.element_id: _caption(node, caption) for node in graph.nodes}
        for node in shown.nodes:  # the colours follow the labels, which were the captions
            node.caption = names.get(str(node.id), node.caption)
        if size is not None:
            numbers = {node.element_id: node.get(size) for node in graph.nodes}
            known = {each: value for each, value in numbers.items() if is_number(value)}
            least = min(known.values())
            sizes = {node.id: known.get(str(node.id), least) for node in shown.nodes}
            shown.resize_nodes(sizes=sizes, node_radius_min_max=_RADIUS)
        return shown.render()


def _caption(node: Node, name: str | None) -> str:
    """The value that names a node; its labels if it has none."""
    names = _NAMES if name is None else (name,)
    found = (node[each] for each in names if isinstance(node.get(each), str | int | float))
    return str(next(found, None) or ":".join(node.labels) or node.element_id)


def _refuse_missing(
    graph: Graph, name: str | None, option: str, fits: Callable[[Any], bool]
) -> None:
    if name is not None and not any(name in node and fits(node[name]) for node in graph.nodes):
        known = sorted({key for node in graph.nodes for key in node})
        raise ConfigurationError(
            f"no node has a fitting property {name!r} for its {option}; there are "
            f"{', '.join(known) or 'none'}."
        )


def html_of(graph: Graph) -> str | None:
    """The drawing for IPython's formatter, None if the graph cannot be drawn."""
    try:
        return str(drawing(graph).data)
    except ConfigurationError:
        return None
