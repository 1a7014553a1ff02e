"""Edge lists as a graph: its nodes are those that the edges name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError

from .edge_lists import EdgeFile
from .input_files import expand_files
from .tables import TablesSource

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["EdgesSource"]


class EdgesSource(TablesSource):
    """Lines of two ids, and optional properties.

    Args:
        files: A path, several, or a regular expression on names.
        type: Type of all relationships.
        columns: Names of the columns, including ``source`` and ``target``.
        delimiter: Separates fields; None for blanks or tabs.
        comments: Prefix of comment lines; None if there are none.

    Raises:
        ConfigurationError: The columns lack an end, or two have the same name.
        SourceError: There is no such file.
    """

    def __init__(
        self,
        files: Any,
        *,
        type: str = "RELATED",
        columns: Sequence[str] = ("source", "target"),
        delimiter: str | None = None,
        comments: str | None = "#",
    ) -> None:
        names = tuple(columns)
        if isinstance(columns, str) or not {"source", "target"} <= set(names):
            raise ConfigurationError(f"columns={columns!r}: must name 'source' and 'target'")
        if len(set(names)) < len(names):
            raise ConfigurationError(f"columns={columns!r}: two have the same name")
        if not type:
            raise ConfigurationError("type='': a relationship has a type")
        wanted = files if isinstance(files, str | os.PathLike) else list(files)
        tables = [
            (type, EdgeFile(file.path, names, delimiter, comments)) for file in expand_files(wanted)
        ]
        super().__init__(None, tables, name="edges")
