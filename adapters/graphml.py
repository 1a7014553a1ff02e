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
    """A graph in a GraphML file (``.graphml`` or ``.xml``, optionally with ``.gz`` or ``.xz``).

    Labels come from the node's attribute ``labels`` (``":Person:Actor"``) or its data with the key
    ``labels``; the type comes from the edge's attribute ``label`` or its data with the key
    ``label``. Properties have their key's declared type; without one they are texts.

    Args:
        path: The file.
        default_type: Type of relationships without one.
        store_ids: True to keep the attribute ``id`` of nodes and edges as the property ``id``.
            Other programs write names there. By default True, unless Neo4j wrote the file (its
            nodes have the attribute ``labels`` and its edges ``label``), or it has a property
            ``id`` anyway.

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
        """Reads the whole file; nodes and edges may come in any order.

        Raises:
            SourceError: It is not well-formed XML or not supported GraphML; names the line.
        """
        del progress  # the builder of the graph counts rows
        with self._file.open() as stream:
            nodes, relationships = read_graphml(
                stream,
                self.name,
                default_type=self._default_type,
                store_ids=self._store_ids,
            )
        yield GraphBatches(nodes, relationships)
