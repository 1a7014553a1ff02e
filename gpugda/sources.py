"""From what the user calls a source to a `GraphSource`, with adapters found by entry point."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import GraphSource, Progress, SnapshotFolder
from gpugda.snapshot.store import is_snapshot

__all__ = ["adapter", "resolve_source"]

GROUP = "gpugda.adapters"
_GRAPHML = (".graphml", ".graphml.gz", ".graphml.xz", ".xml", ".xml.gz", ".xml.xz")


@lru_cache(maxsize=1)
def _adapters() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=GROUP)}


def adapter(name: str) -> Any:
    """The adapter class registered under a name in the entry point group ``gpugda.adapters``.

    Raises:
        ConfigurationError: No such adapter is installed.
    """
    found = _adapters()
    if name not in found:
        raise ConfigurationError(
            f"No adapter named {name!r} is installed; "
            f"there are: {', '.join(sorted(found)) or 'none'}."
        )
    return found[name].load()


class SnapshotSource:
    """A saved snapshot as a source."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = f"snapshot {path.name}"

    def read(self, progress: Progress) -> _Ready:
        """The folder itself."""
        return _Ready(SnapshotFolder(self.path))


class _Ready:
    """A context that holds nothing open."""

    def __init__(self, folder: SnapshotFolder) -> None:
        self._folder = folder

    def __enter__(self) -> SnapshotFolder:
        return self._folder

    def __exit__(self, *exception: object) -> None:
        return None


def resolve_source(source: object) -> GraphSource:
    """The source behind a `GraphSource`, a path, or an address ``adapter:rest``.

    Raises:
        ConfigurationError: It is none of these.
        SourceError: The path does not exist or holds no graph.
    """
    if isinstance(source, Path):
        return _from_path(source)
    if isinstance(source, str):
        return _from_text(source)
    if isinstance(source, GraphSource):
        return source
    raise ConfigurationError(
        f"A source cannot be a {type(source).__name__}. Give a snapshot folder, a GraphML "
        "file, a folder of import CSV, 'sample:wordnet', or what gpugda.graph(...) and "
        "gpugda.read_import(...) return."
    )


def _from_text(address: str) -> GraphSource:
    scheme, colon, rest = address.partition(":")
    if colon and rest.startswith("//") and scheme.partition("+")[0] in ("bolt", "neo4j"):
        raise ConfigurationError(
            "This version reads embedded sources and snapshots, not a Neo4j server. Export the "
            "graph once (neo4j-admin or apoc.export.graphml.all) and open the files."
        )
    if colon and scheme in _adapters() and not Path(address).exists():
        made: GraphSource = adapter(scheme)(rest)
        return made
    return _from_path(Path(address))


def _from_path(path: Path) -> GraphSource:
    path = path.expanduser()
    if not path.exists():
        raise SourceError(f"There is no file or folder {str(path)!r}, and no adapter of that name.")
    if is_snapshot(path):
        return SnapshotSource(path)
    if path.is_dir() or path.suffix == ".zip":
        made: GraphSource = adapter("import").from_folder(path)
        return made
    if path.name.lower().endswith(_GRAPHML):
        made = adapter("graphml")(path)
        return made
    raise SourceError(
        f"{path.name!r} is no graph that can be read: not a snapshot folder, GraphML "
        "(.graphml), nor a folder or zip of import CSV."
    )
