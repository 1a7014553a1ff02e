"""Edge lists as a graph: its nodes are those that the edges name."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.errors import ConfigurationError

from .edge_lists import EdgeFile, read_edge_list
from .input_files import expand_files
from .tables import TablesSource

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.ports import GraphBatches, Progress

__all__ = ["EdgesSource"]


class EdgesSource:
    """Lines of two ids, and optional properties; or a Matrix Market file.

    Args:
        files: A path, several, or a pattern of names.
        type: Type of all relationships.
        columns: Names of the columns, including ``source`` and ``target``; None to notice them.
        delimiter: Separates fields; None to notice it.
        comments: Prefix of comment lines, or several; None if there are none.

    Raises:
        ConfigurationError: The columns lack an end, or two have the same name.
        SourceError: There is no such file.
    """

    def __init__(
        self,
        files: Any,
        *,
        type: str = "RELATED",
        columns: Sequence[str] | None = None,
        delimiter: str | None = None,
        comments: str | Sequence[str] | None = ("#", "%"),
    ) -> None:
        names = tuple(columns or ())
        if columns is not None and (
            isinstance(columns, str) or not {"source", "target"} <= set(names)
        ):
            raise ConfigurationError(f"columns={columns!r}: must name 'source' and 'target'")
        if len(set(names)) < len(names):
            raise ConfigurationError(f"columns={columns!r}: two have the same name")
        if not type:
            raise ConfigurationError("type='': a relationship has a type")
        wanted = files if isinstance(files, str | os.PathLike) else list(files)
        prefixes = (comments,) if isinstance(comments, str) else tuple(comments or ())
        self._type = type
        self._files = [EdgeFile(file, names, delimiter, prefixes) for file in expand_files(wanted)]
        self.name = "edges"

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """Reads all files, then makes a batch of each.

        Raises:
            SourceError: A line has a wrong number of fields, ….
        """
        lists = [read_edge_list(each) for each in self._files]
        tables = [(self._type, each.table) for each in lists]
        # The rows of a matrix without entries are nodes, too.
        orders = [each.order for each in lists if each.order is not None]
        nodes = {"id": np.arange(1, max(orders) + 1)} if orders else None
        with TablesSource(nodes, tables).read(progress) as batches:
            yield batches
