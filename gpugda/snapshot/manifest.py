"""The manifest of a saved snapshot: contents, files and checksums."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gpugda.errors import SourceError
from gpugda.ports import DatabaseVersion, Projection
from gpugda.snapshot.manifest_checks import check_content
from gpugda.types import value

__all__ = [
    "AGAIN",
    "FORMAT",
    "MANIFEST",
    "VERSION",
    "FileEntry",
    "Manifest",
    "PropertyEntry",
    "is_snapshot",
    "read_manifest",
]

MANIFEST = "manifest.json"
FORMAT = "gpugda-snapshot"
VERSION = 3
_READABLE = (1, 2, 3)
# 2 added ids of servers, and properties that are read later; 3 the projection.
AGAIN = "save the snapshot again from its source"
"""Advice for a damaged snapshot."""

_LARGEST = 1 << 26  # bytes; the statistics of a rich schema take some ten million


@value(frozen=True, slots=True)
class PropertyEntry:
    """A property column: its key and the kind of its values."""

    key: str
    kind: str


@value(frozen=True, slots=True)
class FileEntry:
    """A file of the snapshot: its name in the folder, its size, the CRC-32 of each 32 MiB."""

    name: str
    size_bytes: int
    checksums: list[int]


@value(frozen=True, slots=True)
class Manifest:
    """Contents of a snapshot.

    Args:
        created: Time of saving, ISO 8601 in UTC.
        source_name: Source of the graph.
        node_count: n.
        relationship_count: m.
        labels: Names by label id.
        types: Names by type id.
        element_id_prefix: See `DataGraph`.
        has_incoming: False if the incoming direction is rebuilt when opened.
        node_properties: Property entries in the order of their columns.
        relationship_properties: Property entries in the order of their columns.
        statistics: ``GraphStatistics.to_dict()``.
        files: By contents: ``arrays``, ``node_properties``, ``relationship_properties``.
        external_ids: Prefixes of the element ids of nodes and of relationships, if the graph came
            from a database server; else None.
        nodes_read: Keys of the node properties read, if others may exist; None if all were.
        relationships_read: Keys of the relationship properties read; None if all were.
        state: `DatabaseVersion` of the graph, if it came from a database.
        part: `Projection` of the database that was read, None for all of it.
    """

    created: str
    source_name: str
    node_count: int
    relationship_count: int
    labels: list[str]
    types: list[str]
    element_id_prefix: str
    has_incoming: bool
    node_properties: list[PropertyEntry]
    relationship_properties: list[PropertyEntry]
    statistics: dict[str, Any]
    files: dict[str, FileEntry]
    external_ids: list[str] | None = None
    nodes_read: list[str] | None = None
    relationships_read: list[str] | None = None
    state: dict[str, Any] | None = None
    part: dict[str, list[str] | None] | None = None

    @property
    def version(self) -> DatabaseVersion | None:
        """The graph's state of the database, None if it did not come from one."""
        return None if self.state is None else DatabaseVersion(**self.state)

    @property
    def projection(self) -> Projection:
        """The part of the database that was read; before version 3 it counts as all of it."""
        if self.part is None:
            return Projection()
        labels, types = self.part["labels"], self.part["types"]
        return Projection(
            None if labels is None else tuple(labels), None if types is None else tuple(types)
        )

    @property
    def key(self) -> str:
        """Identifies the contents: those of all files, and what their numbers stand for."""
        files = [asdict(each) for _, each in sorted(self.files.items())]
        content = [files, self.labels, self.types, self.node_count, self.relationship_count]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    def to_text(self) -> str:
        """The content of ``manifest.json``."""
        content = asdict(self)
        head = {"format": FORMAT, "version": VERSION, "checksum": _checksum(content)}
        lines = [f"{json.dumps(key)}: {json.dumps(each)}" for key, each in (head | content).items()]
        return "{\n" + ",\n".join(lines) + "\n}\n"


def is_snapshot(path: str | Path) -> bool:
    """True if this is the folder of a saved snapshot, whatever its version and condition."""
    try:
        content = json.loads(_text_of(Path(path) / MANIFEST))
    except (OSError, ValueError, RecursionError):
        # A damaged manifest beside array files is a damaged snapshot, not another folder.
        return any(Path(path).glob("arrays-*.arrow")) and (Path(path) / MANIFEST).exists()
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_manifest(path: str | Path) -> Manifest:
    """The manifest of a snapshot's folder.

    Raises:
        SourceError: It is absent, damaged or of another version; says what to do.
    """
    folder = Path(path)
    content = _read_json(folder)
    if not isinstance(content, dict) or content.pop("format", None) != FORMAT:
        raise SourceError(f"{folder} is not a snapshot: its {MANIFEST} is of something else")
    version = content.pop("version", None)
    if version not in _READABLE:
        raise SourceError(
            f"the snapshot {folder} has format version {version}, this program reads {VERSION}: "
            f"{AGAIN}, or use the version of gpugda that wrote it"
        )
    if content.pop("checksum", None) != _checksum(content):
        raise SourceError(f"the snapshot {folder} is damaged, its {MANIFEST} was changed: {AGAIN}")
    return _from_content(content, folder)


def _text_of(path: Path) -> str:
    """The text of a manifest of plausible size.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not text, or not a regular file.
    """
    if path.exists() and not path.is_file():
        raise ValueError("it is not a regular file")
    with path.open("rb") as file:
        # Given a larger size, Python would allocate that much.
        size = os.fstat(file.fileno()).st_size
        if size > _LARGEST:
            raise ValueError("it is too large")
        return file.read(size).decode()


def _read_json(folder: Path) -> Any:
    try:
        return json.loads(_text_of(folder / MANIFEST))
    except (FileNotFoundError, NotADirectoryError):
        what = "there is no such folder" if not folder.exists() else f"it has no {MANIFEST}"
        raise SourceError(f"{folder} is not a snapshot: {what}") from None
    except OSError as error:
        raise SourceError(
            f"the snapshot {folder} cannot be read: {error}; check the permissions"
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"the snapshot {folder} is damaged, its {MANIFEST} is not JSON: {AGAIN}"
        ) from error


def _from_content(content: dict[str, Any], folder: Path) -> Manifest:
    try:
        check_content(content)
        for kind in ("node_properties", "relationship_properties"):
            content[kind] = [PropertyEntry(**entry) for entry in content[kind]]
        content["files"] = {kind: FileEntry(**entry) for kind, entry in content["files"].items()}
        return Manifest(**content)
    except ValueError as error:
        raise SourceError(
            f"the snapshot {folder} is damaged, in its {MANIFEST} {error}: {AGAIN}"
        ) from error
    except (KeyError, TypeError) as error:
        raise SourceError(
            f"the snapshot {folder} is damaged, its {MANIFEST} lacks something: {AGAIN}"
        ) from error


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())
