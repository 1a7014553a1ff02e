"""Resolves a user's source argument to a `GraphSource`; adapters are found by entry point."""

from __future__ import annotations

import re
from functools import lru_cache
from glob import iglob
from importlib.metadata import entry_points
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import GraphSource, Progress, SnapshotFolder
from gpugda.snapshot.manifest import MANIFEST, is_snapshot

__all__ = ["adapter", "is_networkx", "resolve_source", "with_decimals"]

GROUP = "gpugda.adapters"
_SHOWN = 200
_LOOKED_AT = 1000  # names of a folder, to find a similar one
_HOST_AND_PORT = re.compile(r"([\w.-]+:\d{2,5})(/.*)?")
_CREDENTIALS = re.compile(r"[^/@\s]:[^@\s]+@")
_SNAPSHOT_FILES = ("arrays", "node_properties", "relationship_properties")
_FILE_ADDRESS = re.compile(r"(?!https?:.*/$)\w[\w+.-]*://[^/]*/(.*/|.*\*.*|.*\.\w+)")
"""An address such as ``s3://bucket/folder/`` or ``https://host/edges.csv``; not ``http://host``."""
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

    def __init__(self, path: Path, *, trust: bool = False) -> None:
        self.path = path
        self.trust = trust
        self.name = f"snapshot {path.name}"

    def read(self, progress: Progress) -> _ReadySnapshot:
        """The snapshot folder itself."""
        return _ReadySnapshot(SnapshotFolder(self.path, self.trust))


class _ReadySnapshot:
    """A context manager with nothing to close."""

    def __init__(self, folder: SnapshotFolder) -> None:
        self._folder = folder

    def __enter__(self) -> SnapshotFolder:
        return self._folder

    def __exit__(self, *exception: object) -> None:
        return None


def resolve_source(source: object, *, trust: bool = False, **server_options: Any) -> GraphSource:
    """The source for a `GraphSource`, a path, an address ``adapter:rest``, or a driver.

    Args:
        source: The user's argument.
        trust: For a saved snapshot only: no other user can write it.
        server_options: For a database server only: ``auth``, ``database`` and so on.

    Raises:
        ConfigurationError: The argument is none of these, or does not take the options.
        SourceError: The path does not exist or holds no graph, or the server cannot be reached.
    """
    if _is_server(source):
        _refuse_trust(trust)
        made: GraphSource = adapter("bolt")(source, **server_options)
        return made
    if server_options:
        raise ConfigurationError(
            f"{', '.join(sorted(server_options))}: only for a source that is a database server "
            "(bolt://… or neo4j://…, or a driver)."
        )
    found = _embedded(source)
    if isinstance(found, SnapshotSource):
        return SnapshotSource(found.path, trust=trust)
    _refuse_trust(trust)
    return found


def with_decimals(address: str, decimals: str) -> GraphSource:
    """The tables in the files at an address, with decimal numbers taken as ``decimals`` says.

    Raises:
        ConfigurationError: The address is no such file, folder or pattern.
        SourceError: There is nothing at the address.
    """
    found: Any = None if _is_server(address) else _embedded(address)
    if not hasattr(found, "with_decimals"):
        raise ConfigurationError("decimals: only for Parquet and Arrow files")
    tables: GraphSource = found.with_decimals(decimals)
    return tables


def _refuse_trust(trust: bool) -> None:
    if trust:
        raise ConfigurationError("trust=True: only for a source that is a saved snapshot.")


def _embedded(source: object) -> GraphSource:
    if isinstance(source, str):
        return _from_text(source)
    if isinstance(source, PathLike) and isinstance(text := fspath(source), str):
        _refuse_empty(text)
        return _from_path(Path(text))
    if isinstance(source, GraphSource):
        return source
    for name, is_such in (("networkx", is_networkx), ("ladybug", _is_ladybug)):
        if is_such(source):
            made: GraphSource = adapter(name)(source)
            return made
    raise ConfigurationError(
        f"A source cannot be a {type(source).__name__}. Give bolt://… or neo4j://…, a neo4j "
        "driver, a snapshot folder, GraphML, a table or list of edges in a file, a folder of such, "
        "'sample:wordnet', a NetworkX graph, a Ladybug connection, or what gpugda.graph(...), "
        "gpugda.read_edges(...) and gpugda.read_import(...) return."
    )


def is_networkx(source: object) -> bool:
    """True for a NetworkX graph, or an object with the same interface."""
    return all(hasattr(source, name) for name in ("nodes", "edges", "adj", "is_multigraph"))


def _is_ladybug(source: object) -> bool:
    package = type(source).__module__.partition(".")[0]
    return package in ("ladybug", "kuzu") and type(source).__name__ in ("Connection", "Database")


def _is_server(source: object) -> bool:
    if isinstance(source, str):
        scheme, _, rest = source.strip().partition(":")
        if not rest.startswith("//"):
            # The adapter refuses it without repeating the password.
            looks_so = _CREDENTIALS.search(source) is not None
            return looks_so and not _exists(source) and not any(iglob(source))
        if scheme.partition("+")[0].lower() in ("bolt", "neo4j"):
            return True
        if _is_file_address(source):
            return False
        # Includes any other scheme: the adapter reports which ones are valid.
        return scheme.isalnum() and scheme not in _adapters() and not _exists(source)
    # Duck typing, so that the driver's package is only imported by those who use it.
    return all(hasattr(source, name) for name in ("session", "verify_connectivity", "encrypted"))


def _refuse_empty(text: str) -> None:
    if not text.strip():
        raise ConfigurationError(
            "The source is an empty text. Give a folder or file, or 'sample:wordnet'; '.' is the "
            "current folder."
        )


def _from_text(address: str) -> GraphSource:
    _refuse_empty(address)
    scheme, colon, rest = address.partition(":")
    if colon and scheme in _adapters() and not _exists(address):
        made: GraphSource = adapter(scheme)(rest)
        return made
    if _is_file_address(address):
        made = adapter("files")(address.strip())
        return made
    return _from_path(Path(address))


def _exists(address: str) -> bool:
    try:
        return Path(address).exists()
    except OSError:
        return False


def _looks_like_snapshot(folder: Path) -> bool:
    """True if the folder has parts of a snapshot, so that errors can name what is missing."""
    if any(any(folder.glob(f"{kind}-*.arrow")) for kind in _SNAPSHOT_FILES):
        return True
    if not (folder / MANIFEST).is_file():
        return False
    # Tables may come with a manifest of their own.
    return all(path.name == MANIFEST for path in folder.iterdir())


def _is_file_address(address: str) -> bool:
    return _FILE_ADDRESS.fullmatch(address.strip()) is not None


def _shortened(path: Path) -> str:
    text = str(path)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _nearest(path: Path) -> str:
    """What may have been meant: a server without its scheme, or a file of a similar name."""
    if server := _HOST_AND_PORT.fullmatch(str(path)):
        return f"; the address of a server begins with its scheme: bolt://{server[1]}"
    if not path.parent.is_dir():
        return f"; nor is there a folder {_shortened(path.parent)!r}"
    from difflib import get_close_matches  # on errors only

    names = [entry.name for entry in islice(path.parent.iterdir(), _LOOKED_AT)]
    near = get_close_matches(path.name[:_SHOWN], names, n=1, cutoff=0.75)
    return f"; did you mean {_shortened(path.parent / near[0])!r}?" if near else ""


def _from_path(path: Path) -> GraphSource:
    made: GraphSource
    try:
        path = path.expanduser()
        if not path.exists() and not _is_pattern(path):
            raise SourceError(
                f"There is no file or folder {_shortened(path)!r}, and no adapter of that name"
                f"{_nearest(path) or '.'}"
            )
        if is_snapshot(path) or _looks_like_snapshot(path):
            return SnapshotSource(path)
    except OSError as error:  # such as a name that is too long, or a folder without permission
        raise SourceError(
            f"{_shortened(path)!r} cannot be looked up: {error.strerror}; check the path and the "
            "permissions."
        ) from error
    except RuntimeError as error:  # "~name" of an unknown user
        raise SourceError(f"{_shortened(path)!r} cannot be looked up: {error}") from error
    if path.name.lower().endswith(_GRAPHML):
        made = adapter("graphml")(path)
        return made
    made = adapter("files")(path)
    return made


def _is_pattern(path: Path) -> bool:
    """True for a pattern of files' names, such as ``data/*.csv``."""
    return any(mark in str(path) for mark in "*?[")
