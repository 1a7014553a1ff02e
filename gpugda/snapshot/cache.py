"""Snapshots of databases kept on disk, so that another process need not read them again.

The folder is its owner's only. What lies in it is named by a hash, so that the names tell neither
servers nor users. Entries appear whole or not at all; a process that was killed leaves at most a
folder with a temporary name, which the next one removes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import stat
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.config import parse_bytes
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import Projection
from gpugda.snapshot.manifest import VERSION
from gpugda.snapshot.store import save_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpugda.data.data_graph import DataGraph

__all__ = ["CacheKey", "SnapshotCache", "open_cache"]

logger = logging.getLogger(__name__)

DEFAULT_SIZE = 4 * 2**30
_OFF = ("", "off", "none", "0", "false")
_SUFFIX = ".snapshot"
_ALL = Projection()
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class CacheKey:
    """What a cached snapshot is of.

    Args:
        address: Of the server.
        database_id: Of the database.
        transaction: Whose state it is.
        user: As whom it was read: another user may see less.
        impersonated_user: As whom the user acted.
        projection: The part that was read.
    """

    address: str
    database_id: str
    transaction: int
    user: str = ""
    impersonated_user: str = ""
    projection: Projection = _ALL

    @property
    def folder(self) -> str:
        """The entry's name: one part for what is read, one for its state."""
        facts = asdict(self)
        transaction = facts.pop("transaction")
        text = json.dumps([VERSION, facts], sort_keys=True)
        return f"{hashlib.sha256(text.encode()).hexdigest()[:32]}-{transaction}{_SUFFIX}"

    @property
    def family(self) -> str:
        """What all states of the same have in their names."""
        return self.folder.partition("-")[0]


class SnapshotCache:
    """A folder of snapshots, shared by all processes of one user.

    Args:
        folder: Made when something is first kept.
        size_limit: Bytes; the entries used longest ago are removed beyond it.
    """

    def __init__(self, folder: Path, size_limit: int = DEFAULT_SIZE) -> None:
        self._folder = folder
        self._size_limit = size_limit
        self._lock = threading.Lock()

    def find(self, key: CacheKey) -> Path | None:
        """The folder of an entry, which thereby counts as used; None if there is none."""
        path = self._folder / key.folder
        try:
            if not self._is_private() or not path.is_dir():
                return None
            os.utime(path)
        except OSError as error:
            logger.debug("the snapshot cache cannot be read: %s", error)
            return None
        return path

    def put(self, key: CacheKey, graph: DataGraph) -> None:
        """Keeps a snapshot; older states of the same are removed. Failing is logged, no error."""
        with self._lock:
            try:
                self._make_private()
                save_snapshot(graph, self._folder / key.folder, partial=True)
                self._remove(self._of_family(key))
                self._shrink(keep=key.folder)
            except (OSError, SourceError) as error:
                logger.warning("the snapshot is not kept in the cache: %s", error)

    def drop(self, key: CacheKey) -> None:
        """Removes an entry."""
        self._remove([self._folder / key.folder])

    def clear(self) -> None:
        """Removes all entries."""
        self._remove(list(self._entries()))

    def size(self) -> int:
        """Bytes of all entries."""
        return sum(map(_size, self._entries()))

    # -------------------------------------------------------------- inside
    def _entries(self) -> Iterator[Path]:
        with contextlib.suppress(OSError):
            yield from (path for path in self._folder.iterdir() if path.name.endswith(_SUFFIX))

    def _of_family(self, key: CacheKey) -> list[Path]:
        return [
            path
            for path in self._entries()
            if path.name.startswith(f"{key.family}-") and path.name != key.folder
        ]

    def _shrink(self, keep: str) -> None:
        entries = sorted(self._entries(), key=_last_used)
        sizes = {path: _size(path) for path in entries}
        total = sum(sizes.values())
        for path in entries:
            if total <= self._size_limit:
                return
            if path.name != keep or sizes[path] > self._size_limit:
                self._remove([path])
                total -= sizes[path]

    def _remove(self, paths: list[Path]) -> None:
        for path in paths:
            # Renamed first, so that nobody finds half of it; who has it mapped keeps it.
            gone = path.with_name(f".{path.name}.{os.getpid()}.{time.monotonic_ns()}.gone")
            try:
                path.rename(gone)
            except OSError:
                continue  # another process was faster
            shutil.rmtree(gone, ignore_errors=True)

    def _make_private(self) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._is_private():
            raise SourceError(
                f"others may write to the folder {self._folder}, or it is not yours: make it "
                "private (chmod 700), or set GPUGDA_CACHE_DIR to another"
            )
        for path in self._folder.glob(".*.gone"):  # a process was killed while it removed them
            shutil.rmtree(path, ignore_errors=True)

    def _is_private(self) -> bool:
        try:
            facts = self._folder.stat()
        except FileNotFoundError:
            return True
        owner = getattr(os, "getuid", lambda: facts.st_uid)()
        return facts.st_uid == owner and not facts.st_mode & _OTHERS_MAY_WRITE


def open_cache(environment: Mapping[str, str] | None = None) -> SnapshotCache | None:
    """The cache that ``GPUGDA_CACHE_DIR`` and ``GPUGDA_CACHE_SIZE`` ask for; None if switched off.

    Raises:
        ConfigurationError: The size makes no sense.
    """
    variables = os.environ if environment is None else environment
    text = variables.get("GPUGDA_CACHE_DIR")
    if text is not None and text.strip().lower() in _OFF:
        return None
    if text is None:
        from platformdirs import user_cache_path

        folder = user_cache_path("gpugda") / "snapshots"
    else:
        folder = Path(text).expanduser()
        if not folder.is_absolute():
            raise ConfigurationError(
                f"GPUGDA_CACHE_DIR is {text!r}; give an absolute path, or 'off'."
            )
    size = parse_bytes(variables.get("GPUGDA_CACHE_SIZE"), name="GPUGDA_CACHE_SIZE")
    return SnapshotCache(folder, DEFAULT_SIZE if size is None else size)


def _size(folder: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            total += path.stat().st_size
    return total


def _last_used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
