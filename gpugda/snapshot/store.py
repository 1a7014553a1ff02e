"""Saves data graphs as folders; see `gpugda.snapshot.opening` for the inverse."""

from __future__ import annotations

import logging
import os
import re
import shutil
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpugda.errors import SourceError
from gpugda.ports import Projection
from gpugda.process import host_token, is_alive
from gpugda.snapshot.array_files import checksums, map_file, write_arrays
from gpugda.snapshot.graph_arrays import column_arrays, graph_arrays, property_entries
from gpugda.snapshot.manifest import MANIFEST, FileEntry, Manifest, is_snapshot, read_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.ports import DatabaseVersion

__all__ = ["save_snapshot"]

logger = logging.getLogger(__name__)

_ALL = Projection()


# ------------------------------------------------------------------ saving
def save_snapshot(
    graph: DataGraph,
    path: str | Path,
    *,
    compression: str | None = None,
    incoming: bool = True,
    source_name: str = "",
    partial: bool = False,
    version: DatabaseVersion | None = None,
    projection: Projection = _ALL,
) -> None:
    """Saves a data graph as a folder, atomically.

    An existing snapshot is replaced; readers that have it open continue with the old one.

    Args:
        graph: The graph to save.
        path: The folder; its parent exists.
        compression: None, ``lz4`` or ``zstd``. Compressed files are read into memory when opened,
            others are mapped.
        incoming: True to save the incoming direction, too; else it is rebuilt when opened.
        source_name: Source of the graph, for users.
        partial: True to allow a graph whose properties were not all read; queries on the opened
            graph then need a reader for the others.
        version: The graph's state of the database, if it came from one.
        projection: The part of that database.

    Raises:
        ConfigurationError: The compression is unknown.
        SourceError: The folder holds something else, or cannot be written.
    """
    complete = graph.node_properties.complete and graph.relationship_properties.complete
    if not partial and not complete:
        raise SourceError("not all properties of the graph have been read: read them first")
    folder = Path(path)
    if folder.is_symlink():
        folder = folder.resolve()
    try:
        _refuse_other_things(folder)
        _remove_leftovers(folder)
        with tempfile.TemporaryDirectory(
            prefix=f".{folder.name}.{host_token()}.{os.getpid()}.",
            suffix=".tmp",
            dir=folder.parent,
            ignore_cleanup_errors=True,
        ) as temporary:
            # In a subfolder: the temporary folder itself is private, and removes itself.
            fresh = Path(temporary) / folder.name
            fresh.mkdir()
            _write(graph, fresh, compression, incoming, source_name, version, projection)
            _put_in_place(fresh, folder)
    except OSError as error:
        raise SourceError(
            f"the snapshot {folder} cannot be saved: {error}; check that the folder "
            f"{folder.parent} exists, may be written to and has room"
        ) from error
    logger.info("saved snapshot %s", folder)


def _refuse_other_things(folder: Path) -> None:
    if not folder.exists() or is_snapshot(folder):
        return
    if folder.is_dir() and not any(folder.iterdir()):
        return
    raise SourceError(
        f"{folder} exists and is not a snapshot, so it is not overwritten: choose another path"
    )


def _remove_leftovers(folder: Path) -> None:
    """Removes what earlier saves of this snapshot left when their process was killed."""
    pattern = re.compile(rf"\.{re.escape(folder.name)}\.{host_token()}\.(\d+)\.\w+\.tmp")
    for path in folder.parent.iterdir():
        found = pattern.fullmatch(path.name)
        if found and not path.is_symlink() and not is_alive(int(found[1])):
            shutil.rmtree(path, ignore_errors=True)


def _write(
    graph: DataGraph,
    folder: Path,
    compression: str | None,
    incoming: bool,
    source_name: str,
    version: DatabaseVersion | None,
    projection: Projection,
) -> None:
    # Read once, as more properties may be added meanwhile.
    nodes, relationships = graph.node_properties.state(), graph.relationship_properties.state()
    contents: dict[str, Mapping[str, Any]] = {
        "arrays": graph_arrays(graph, incoming=incoming),
        "node_properties": column_arrays(nodes.columns),
        "relationship_properties": column_arrays(relationships.columns),
    }
    files = {
        kind: _write_file(folder, kind, arrays, compression) for kind, arrays in contents.items()
    }
    ids = graph.external_ids
    manifest = Manifest(
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        source_name=source_name,
        node_count=graph.node_count,
        relationship_count=graph.relationship_count,
        labels=list(graph.labels.names),
        types=list(graph.types.names),
        element_id_prefix=graph.element_id_prefix,
        has_incoming=incoming,
        node_properties=property_entries(nodes.columns),
        relationship_properties=property_entries(relationships.columns),
        statistics=graph.statistics.to_dict(),
        files=files,
        external_ids=None if ids is None else [ids.node_prefix, ids.relationship_prefix],
        nodes_read=nodes.read,
        relationships_read=relationships.read,
        state=None if version is None else asdict(version),
        part=None if projection == _ALL else asdict(projection),
    )
    (folder / MANIFEST).write_text(manifest.to_text(), encoding="utf-8")
    _sync(folder / MANIFEST)
    _sync(folder)


def _write_file(
    folder: Path, kind: str, arrays: Mapping[str, Any], compression: str | None
) -> FileEntry:
    path = folder / f"{kind}.arrow"
    write_arrays(path, arrays, compression)
    _sync(path)
    data = map_file(path)
    sums = checksums(data)
    # Files of different content never share a name, so a reader that opens the snapshot while it is
    # replaced may miss a file, but never mixes old and new ones.
    token = f"{data.size:x}-" + "".join(f"{each:08x}" for each in sums)[:64]
    name = f"{kind}-{token}.arrow"
    path.rename(folder / name)
    return FileEntry(name, data.size, sums)


def _put_in_place(fresh: Path, folder: Path) -> None:
    """Renames a complete new folder to its place, or moves its files into the existing snapshot."""
    if not is_snapshot(folder):
        os.rename(fresh, folder)  # an empty folder there is replaced
        _sync(folder.parent)
        return
    old_files = _file_names(folder)
    new_files = _file_names(fresh)
    for name in new_files:
        os.replace(fresh / name, folder / name)
    _sync(folder)
    os.replace(fresh / MANIFEST, folder / MANIFEST)  # switches to the new snapshot
    _sync(folder)
    for name in old_files - new_files:
        (folder / name).unlink(missing_ok=True)


def _file_names(folder: Path) -> set[str]:
    try:
        return {entry.name for entry in read_manifest(folder).files.values()}
    except SourceError:  # damaged, or of another version: all files that may be a snapshot's
        return {path.name for path in folder.glob("*.arrow")}


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
