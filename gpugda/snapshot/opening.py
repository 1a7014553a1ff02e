"""Opens saved snapshots memory-mapped, without trusting them unless told to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from gpugda.errors import SourceError
from gpugda.snapshot.array_files import checksums, map_file, read_arrays
from gpugda.snapshot.graph_arrays import graph_of_arrays
from gpugda.snapshot.manifest import AGAIN, FileEntry, Manifest, read_manifest
from gpugda.snapshot.range_checks import check_labels, check_values, counted_statistics
from gpugda.types import first_line, value

if TYPE_CHECKING:
    import pyarrow as pa

    from gpugda.data.data_graph import DataGraph

__all__ = ["SavedGraph", "SavedState", "open_saved", "open_snapshot", "saved_state"]

_ATTEMPTS = 5
_SHOWN = 300


@value(frozen=True, slots=True, eq=False)
class SavedGraph:
    """The contents of a folder: the data graph and its manifest."""

    graph: DataGraph
    manifest: Manifest


def open_snapshot(path: str | Path, *, verify: bool = True, trust: bool = False) -> DataGraph:
    """The data graph alone; see `open_saved`."""
    return open_saved(path, verify=verify, trust=trust).graph


def open_saved(path: str | Path, *, verify: bool = True, trust: bool = False) -> SavedGraph:
    """A saved snapshot; its arrays lie in the mapped files and are read-only.

    A snapshot may come from anywhere, and kernels trust a graph's arrays. So every array is checked
    by itself and against the others, and the statistics are recounted: about 0.1 s per million
    relationships, with 20 bytes of temporary memory per relationship.

    Args:
        path: The snapshot's folder.
        verify: True to compare the checksums, which reads every byte once.
        trust: True to trust contents with correct checksums: for folders that no other user may
            write to.

    Raises:
        SourceError: It is no snapshot, is damaged, inconsistent, or of another version; says what
            to do.
    """
    folder = Path(path)
    manifest, data = _map_files(folder)
    for kind, entry in manifest.files.items():
        _check_file(data[kind], entry, folder, verify)
    checked = verify and not trust
    try:
        files = {kind: read_arrays(buffer, check=checked) for kind, buffer in data.items()}
        graph = graph_of_arrays(manifest, files, check=checked)
        if checked:
            check_labels(graph)
            check_values(graph)
            graph = replace(graph, statistics=counted_statistics(graph, manifest))
    except Exception as error:  # Arrow, JSON or a value class may raise anything on foreign bytes
        what = first_line(error)[:_SHOWN] or type(error).__name__
        raise SourceError(f"the snapshot {folder} is damaged, {what}: {AGAIN}") from error
    _saved[graph] = SavedState(folder.absolute(), manifest.key)
    return SavedGraph(graph, manifest)


class SavedState(NamedTuple):
    """Where a graph was opened; the folder may hold another snapshot meanwhile.

    Args:
        folder: The folder.
        key: Identifies the contents that were opened.
    """

    folder: Path
    key: str


_saved: WeakKeyDictionary[DataGraph, SavedState] = WeakKeyDictionary()


def saved_state(graph: DataGraph) -> SavedState | None:
    """The folder that a graph was opened from; None if it comes from elsewhere."""
    return _saved.get(graph)


def _map_files(folder: Path) -> tuple[Manifest, dict[str, pa.Buffer]]:
    manifest = read_manifest(folder)
    for _ in range(_ATTEMPTS):
        try:
            return manifest, {
                kind: map_file(folder / entry.name) for kind, entry in manifest.files.items()
            }
        except FileNotFoundError as error:
            # The snapshot may have been replaced after the manifest was read: read that again.
            replaced = read_manifest(folder)
            if replaced.files == manifest.files:
                name = Path(str(error.filename)).name
                raise SourceError(
                    f"the snapshot {folder} is damaged, its file {name} is missing: {AGAIN}"
                ) from None
            manifest = replaced
        except OSError as error:
            raise SourceError(
                f"the snapshot {folder} cannot be read: {error}; check the permissions"
            ) from error
    raise SourceError(f"the snapshot {folder} is being replaced repeatedly: try again later")


def _check_file(data: pa.Buffer, entry: FileEntry, folder: Path, verify: bool) -> None:
    if data.size != entry.size_bytes:
        raise SourceError(
            f"the snapshot {folder} is damaged, its file {entry.name} has {data.size:,} bytes "
            f"instead of {entry.size_bytes:,}, as if cut short: {AGAIN}"
        )
    if verify and checksums(data) != entry.checksums:
        raise SourceError(
            f"the snapshot {folder} is damaged, the checksum of its file {entry.name} is wrong: "
            f"{AGAIN}"
        )
