"""Folders of Parquet files, such as ``Accelerator.to_parquet`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from gpugda.errors import SourceError

from .tables import TablesSource

if TYPE_CHECKING:
    import os

__all__ = ["ParquetSource"]

_OWN = {"id": "_id", "labels": "_labels", "source": "_source", "target": "_target", "type": "_type"}
_USUAL = {name: name for name in _OWN}


class ParquetSource(TablesSource):
    """The files ``*.parquet`` of a folder.

    Files with columns ``source`` and ``target`` hold relationships, the others nodes, with ids in
    the column ``id``. Labels and types come from columns ``labels`` and ``type``, else from the
    file's name. If the columns are named ``_id``, ``_labels``, … instead, they are not properties.

    Args:
        path: The folder.

    Raises:
        SourceError: A file cannot be read, or has neither ids nor ends.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        folder = Path(path)
        columns = {file: _columns(file) for file in sorted(folder.glob("*.parquet"))}
        own = any({"_id", "_source"} & names for names in columns.values())
        names = _OWN if own else _USUAL
        nodes, relationships = [], []
        for file, there in columns.items():
            if {names["source"], names["target"]} <= there:
                relationships.append((("" if names["type"] in there else file.stem), file))
            elif names["id"] in there:
                nodes.append((("" if names["labels"] in there else file.stem), file))
            else:
                raise SourceError(
                    f"{file.name}: has neither a column {names['id']!r} (nodes) nor "
                    f"{names['source']!r} and {names['target']!r} (relationships); give the files "
                    "and the names of their columns to gpugda.graph"
                )
        super().__init__(nodes or None, relationships, **names, keep_ids=not own, name=folder.name)


def _columns(file: Path) -> set[str]:
    try:
        return set(arrow_parquet.read_schema(file).names)
    except (pa.ArrowException, OSError) as error:
        raise SourceError(f"{file.name}: cannot be read: {error}") from error
