"""Snapshots that are brought to a later state: the inputs and the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.data.increments.properties import with_own_stores

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.column import Column
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseVersion

__all__ = ["CatchUpResult", "LateColumns"]


@dataclass(frozen=True, slots=True, eq=False)
class LateColumns:
    """Property columns read for a snapshot, of its state or of one between it and a later state.

    Args:
        loaded: The snapshot.
        found: Columns, the keys requested (None: all), and True if they belong to nodes.
    """

    loaded: LoadedGraph
    found: list[tuple[Mapping[str, Column], tuple[str, ...] | None, bool]]

    def graph(self) -> DataGraph:
        """The snapshot's graph with the columns, in stores that are not shared."""
        graph = with_own_stores(self.loaded.graph)
        for columns, keys, of_nodes in self.found:
            graph.add_properties(columns, keys, of_nodes=of_nodes)
        return graph


@dataclass(frozen=True, slots=True, eq=False)
class CatchUpResult:
    """The snapshot that answers a query in the newest state.

    Args:
        loaded: A snapshot of that state, or of an earlier one if nothing that the query reads
            changed since.
        version: The newest state.
    """

    loaded: LoadedGraph
    version: DatabaseVersion
