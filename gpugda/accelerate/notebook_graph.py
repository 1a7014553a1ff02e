"""Drawings of nodes and relationships in notebooks, by neo4j-viz."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from neo4j.graph import Graph

__all__ = ["MOST_NODES", "drawing", "html_of", "is_possible"]

MOST_NODES = 1000
"""A browser draws more only slowly, and nobody sees anything in it."""


def is_possible() -> bool:
    """Whether neo4j-viz is installed."""
    from importlib.util import find_spec

    return find_spec("neo4j_viz") is not None


def drawing(graph: Graph) -> Any:
    """The graph as an IPython display object.

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
    if len(graph.nodes) > MOST_NODES:
        raise ConfigurationError(
            f"the result holds {len(graph.nodes):,} nodes, and at most {MOST_NODES:,} are drawn: "
            "give the query a LIMIT."
        )
    from neo4j_viz.neo4j import from_neo4j

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of neo4j-viz and what it imports, not the user's
        return from_neo4j(graph).render()


def html_of(graph: Graph) -> str | None:
    """For IPython's formatter: the drawing, None where there can be none."""
    try:
        return str(drawing(graph).data)
    except ConfigurationError:
        return None
