"""Draws nodes and relationships in notebooks with neo4j-viz."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from neo4j.graph import Graph

__all__ = ["MAX_NODES", "drawing", "html_of", "is_possible"]

MAX_NODES = 1000
"""Maximum number of nodes; a browser draws more only slowly, and the drawing is unreadable."""


def is_possible() -> bool:
    """True if neo4j-viz is installed."""
    from importlib.util import find_spec

    return find_spec("neo4j_viz") is not None


def drawing(graph: Graph) -> Any:
    """Returns the graph as an IPython display object.

    Raises:
        ConfigurationError: neo4j-viz is not installed, or the graph is empty or too large.
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
    from neo4j_viz.neo4j import from_neo4j

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they concern neo4j-viz and its imports, not the user
        return from_neo4j(graph).render()


def html_of(graph: Graph) -> str | None:
    """The drawing for IPython's formatter, None if the graph cannot be drawn."""
    try:
        return str(drawing(graph).data)
    except ConfigurationError:
        return None
