"""The empty data graph."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpugda.data.build import build_data_graph

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["empty_graph"]


class _NoBatches:
    """A source without nodes and relationships."""

    nodes = ()
    relationships = ()
    element_ids = None
    properties_complete = True


@lru_cache(maxsize=1)
def empty_graph() -> DataGraph:
    """A graph without nodes, for result tables that refer to no graph."""
    return build_data_graph(_NoBatches())
