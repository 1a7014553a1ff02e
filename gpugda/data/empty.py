"""The data graph of nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from gpugda.data.build import build_data_graph

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["empty_graph"]


class _NoBatches:
    """Neither nodes nor relationships."""

    nodes = ()
    relationships = ()
    element_ids = None
    properties_complete = True


@lru_cache(maxsize=1)
def empty_graph() -> DataGraph:
    """A graph without nodes, for tables that refer to none."""
    return build_data_graph(_NoBatches())
