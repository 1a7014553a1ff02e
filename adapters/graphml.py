"""GraphML as Neo4j and APOC write it."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.ports import GraphBatches

from .graphml_parser import read_graphml
from .input_files import InputFile, expand_files

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from gpugda.ports import Progress

__all__ = ["GraphmlSource"]


class GraphmlSource:
    """A graph in a GraphML file (``.graphml`` or ``.xml``, perhaps with ``.gz`` or ``.xz``).

    Labels are those of the node's attribute ``labels`` (``":Person:Actor"``) or of its data with
    the key ``labels``; the type is the edge's attribute ``label`` or its data with the key
    ``label``. Properties have the type that their key declares; without one they are texts.

    Args:
        path: The file.
        default_type: Type of relationships that name none.
        store_ids: Are the attributes ``id`` of nodes and edges kept as the property ``id``? Other
            programs write names there. By default, unless the file is Neo4j's, whose nodes have
            the attribute ``labels`` and its edges ``label``, or has a property ``id`` anyway.

    Raises:
        SourceError: There is no such file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        default_type: str = "RELATED",
        store_ids: bool | None = None,
    ) -> None:
        self._file: InputFile = expand_files(Path(path))[0]
        self._default_type = default_type
        self._store_ids = store_ids

    @property
    def name(self) -> str:
        """The file's name."""
        return self._file.name

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """Reads the whole file: its nodes and edges may stand in any order.

        Raises:
            SourceError: It is no well-formed XML or no GraphML that can be read; tells the line.
        """
        del progress  # whoever builds the graph counts rows
        with self._file.open() as stream:
            nodes, relationships = read_graphml(
                stream,
                self.name,
                default_type=self._default_type,
                store_ids=self._store_ids,
            )
        yield GraphBatches(nodes, relationships)
