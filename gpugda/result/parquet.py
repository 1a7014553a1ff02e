"""Results and whole graphs as Parquet files."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from gpugda.data.patches.patched import whole
from gpugda.data.values.arrow_numbers import arrow_numbers
from gpugda.errors import ConfigurationError, SourceError
from gpugda.execute.result_table import ResultTable
from gpugda.result.arrow import arrow_table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.column import Column

__all__ = ["write_graph", "write_table"]

_FILES = ("nodes.parquet", "relationships.parquet")


def write_table(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Writes the file atomically.

    Raises:
        SourceError: The file cannot be written.
    """
    target = Path(path)
    part = None
    try:
        handle, part = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
        arrow_parquet.write_table(table, part)
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, target)
    except (OSError, pa.ArrowException) as error:
        if part is not None:
            Path(part).unlink(missing_ok=True)
        raise SourceError(
            f"{target} cannot be written: {error}; check that its folder exists, may be written to "
            "and has room"
        ) from error


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def write_graph(graph: DataGraph, folder: str | os.PathLike[str]) -> None:
    """Writes ``nodes.parquet`` and ``relationships.parquet``; creates the folder if needed.

    Raises:
        ConfigurationError: A property has the name of a column: ``_id``, ``_labels``, ``_source``,
            ``_target`` or ``_type``.
        SourceError: The folder holds other files, or cannot be written.
    """
    path = Path(folder)
    try:
        path.mkdir(exist_ok=True)
        others = sorted({entry.name for entry in path.iterdir()} - set(_FILES))
    except OSError as error:
        raise SourceError(f"{path} cannot be made or read: {error}") from error
    if others:
        raise SourceError(f"{path} holds something else ({others[0]}); choose another folder")
    for name, table in zip(_FILES, (_nodes(graph), _relationships(graph)), strict=True):
        write_table(table, path / name)


def _nodes(graph: DataGraph) -> pa.Table:
    nodes = np.arange(graph.node_count, dtype=np.uint32)
    names = pa.array(graph.labels.names, pa.large_string())
    label_ids = arrow_numbers(whole(graph.label_ids))
    offsets = arrow_numbers(whole(graph.label_offsets).astype(np.int64))
    labels = pa.LargeListArray.from_arrays(offsets, names.take(label_ids))
    own = {"_id": arrow_numbers(graph.ids_of(nodes, of_nodes=True)), "_labels": labels}
    return _with_properties(graph, own, graph.node_properties, graph.node_count)


def _relationships(graph: DataGraph) -> pa.Table:
    names = pa.array(graph.types.names, pa.large_string())
    own = {
        "_source": arrow_numbers(graph.ids_of(graph.start_nodes(), of_nodes=True)),
        "_target": arrow_numbers(graph.ids_of(graph.outgoing.neighbours, of_nodes=True)),
        "_type": names.take(arrow_numbers(graph.relationship_types())),
    }
    return _with_properties(graph, own, graph.relationship_properties, graph.relationship_count)


def _with_properties(
    graph: DataGraph, own: Mapping[str, Any], columns: Mapping[str, Column], count: int
) -> pa.Table:
    taken = sorted(own.keys() & columns.keys())
    if taken:
        raise ConfigurationError(
            f"the property {taken[0]!r} is called like a column of these files; save(folder) keeps "
            "it"
        )
    wide = ResultTable(tuple(columns), tuple(columns.values()), count, graph)
    properties = arrow_table(wide, 0, "index")
    table = pa.table(dict(own))
    for place, field in enumerate(properties.schema):
        table = table.append_column(field, properties.column(place))
    return table
