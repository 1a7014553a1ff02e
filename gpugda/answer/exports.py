"""The whole graph of an accelerator, saved or handed to other programs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import os

    import networkx

    from gpugda.loading import LoadedGraph

__all__ = ["GraphExports"]


class GraphExports(ABC):
    """The public methods of an accelerator that give its graph away."""

    @abstractmethod
    def _complete(self) -> LoadedGraph:
        """The graph with all its properties."""

    def save(self, path: str | os.PathLike[str], *, compression: str | None = None) -> None:
        """Saves the data graph as a folder for `gpugda.connect`; replaces an older snapshot there.

        Args:
            path: The folder.
            compression: None (memory-mapped without a copy when opened), ``"lz4"`` or ``"zstd"``.

        Raises:
            SourceError: It cannot be written, or something else lies there.
        """
        from gpugda.snapshot.store import save_snapshot  # rarely asked for

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

        Columns ``_id``, ``_labels``, ``_source``, ``_target`` and ``_type``, and one for each
        property; `gpugda.connect` reads the folder. Zones of datetimes become UTC, and values of
        several types in one property Cypher text: `save` keeps all as it is.

        Args:
            path: The folder, made if need be.

        Raises:
            ConfigurationError: A property is called like one of these columns.
            SourceError: It cannot be written, or something else lies there.
        """
        from gpugda.result.parquet import write_graph

        write_graph(self._complete().graph, path)

    def to_networkx(
        self, *, id: str | None = None, labels: str = "labels", type: str = "type"
    ) -> networkx.MultiDiGraph[Any]:
        """The whole graph as a ``networkx.MultiDiGraph``; see `Result.to_networkx` for a part.

        Args:
            id: Property that names the nodes; default their element ids.
            labels: Attribute for a node's labels, a list.
            type: Attribute for an edge's type.

        Raises:
            ConfigurationError: NetworkX is not installed, the property does not name each node
                once, or another property is called like an attribute.
        """
        from gpugda.result.networkx_graph import networkx_of_graph

        return networkx_of_graph(self._complete().graph, id, labels, type)
