"""Describes, saves or exports the whole graph of an accelerator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    import networkx

    from gpugda.data.data_graph import DataGraph
    from gpugda.loading import LoadedGraph
    from gpugda.schema.graph_schema import GraphSchema


__all__ = ["GraphExports", "graph_status"]


def graph_status(loaded: LoadedGraph | None) -> dict[str, Any]:
    """Returns source, size and age of the graph, for `Accelerator.status`."""
    if loaded is None:
        return {"source": "no snapshot yet"}
    age = datetime.now(UTC) - loaded.loaded_at
    return {
        "source": loaded.source_name,
        "transaction": None if loaded.version is None else loaded.version.transaction,
        "nodes": loaded.graph.node_count,
        "relationships": loaded.graph.relationship_count,
        "labels": len(loaded.graph.labels),
        "types": len(loaded.graph.types),
        "loaded_at": loaded.loaded_at.isoformat(timespec="seconds"),
        "age_seconds": age.total_seconds(),
        "load_seconds": loaded.seconds,
        "host_bytes": loaded.graph.nbytes,
        "plans_cached": len(loaded.plans),
    }


class GraphExports(ABC):
    """The public methods of an accelerator that describe or export its graph."""

    @abstractmethod
    def _loaded(self) -> LoadedGraph | None:
        """The graph as last read; None if none was read."""

    @abstractmethod
    def refresh(self) -> None:
        """Reads the source again."""

    @abstractmethod
    def _complete(self) -> LoadedGraph:
        """The graph with all its properties."""

    @property
    def loaded_graph(self) -> DataGraph | None:
        """The data graph as last read, for tools that need its names; None if none was read."""
        loaded = self._loaded()
        return None if loaded is None else loaded.graph

    @property
    def schema(self) -> GraphSchema:
        """What the graph holds: labels, relationship types, what they connect, and properties.

        Print it, or let a notebook show it. Of a database it describes the state last read, which
        is read first if there is none, and the properties that queries have needed so far.

        Raises:
            SourceError: The database cannot be read.
        """
        from gpugda.schema.describe import schema_of  # imported on use only

        if self.loaded_graph is None:
            self.refresh()
        graph = self.loaded_graph
        assert graph is not None
        return schema_of(graph)

    def save(self, path: str | os.PathLike[str], *, compression: str | None = None) -> None:
        """Saves the data graph in a folder for `gpugda.connect`; replaces a snapshot found there.

        Args:
            path: The folder.
            compression: None (memory-mapped without a copy when opened), ``"lz4"`` or ``"zstd"``.

        Raises:
            SourceError: The folder cannot be written, or holds something else.
        """
        from gpugda.snapshot.store import save_snapshot  # rarely used

        loaded = self._complete()
        save_snapshot(
            loaded.graph,
            Path(path),
            compression=compression,
            source_name=loaded.source_name,
            version=loaded.version,
            projection=loaded.projection,
        )

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Writes the graph as ``nodes.parquet`` and ``relationships.parquet`` for other programs.

        The columns are ``_id``, ``_labels``, ``_source``, ``_target`` and ``_type``, and one per
        property; `gpugda.connect` reads the folder. Datetimes are converted to UTC, and a property
        with values of several types to Cypher text; `save` keeps both as they are.

        Args:
            path: The folder, created if it is missing.

        Raises:
            ConfigurationError: A property has the name of one of these columns.
            SourceError: The folder cannot be written, or holds something else.
        """
        from gpugda.result.parquet import write_graph

        write_graph(self._complete().graph, path)

    def to_networkx(
        self, *, id: str | None = None, labels: str = "labels", type: str = "type"
    ) -> networkx.MultiDiGraph[Any]:
        """Returns the whole graph as a ``networkx.MultiDiGraph``; see also `Result.to_networkx`.

        Args:
            id: Property whose values identify the nodes; default is the element id.
            labels: Attribute that holds the list of a node's labels.
            type: Attribute that holds a relationship's type.

        Raises:
            ConfigurationError: NetworkX is not installed, the property is missing or not unique
                among the nodes, or another property has the name of an attribute.
        """
        from gpugda.result.networkx_graph import networkx_of_graph

        return networkx_of_graph(self._complete().graph, id, labels, type)
