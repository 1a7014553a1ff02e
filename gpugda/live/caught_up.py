"""Snapshots on their way to a later state: what is asked of it, and what comes of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.data.increments.properties import apart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.column import Column
    from gpugda.data.data_graph import DataGraph
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseVersion

__all__ = ["CaughtUp", "ReadLater"]


@dataclass(frozen=True, slots=True, eq=False)
class ReadLater:
    """Property columns that were read for a snapshot at its state or while it became a later one.

    Args:
        loaded: The snapshot.
        found: Columns, the keys that were asked for (None: all), and whether they are of nodes.
    """

    loaded: LoadedGraph
    found: list[tuple[Mapping[str, Column], tuple[str, ...] | None, bool]]

    def graph(self) -> DataGraph:
        """The snapshot's graph with the columns, in stores that nobody else has."""
        graph = apart(self.loaded.graph)
        for columns, keys, of_nodes in self.found:
            graph.add_properties(columns, keys, of_nodes=of_nodes)
        return graph


@dataclass(frozen=True, slots=True, eq=False)
class CaughtUp:
    """What the newest state gives for a query.

    Args:
        loaded: The snapshot that answers it: of that state, or of an earlier one since when nothing
            changed of what is read.
        version: The state.
    """

    loaded: LoadedGraph
    version: DatabaseVersion
