"""Cache of database snapshots on disk, so that other processes need not read them again.

The folder is private to its owner. Entries are named by hashes, so that names reveal neither
servers nor users. Entries appear atomically; damaged ones are removed and never used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shutil
import threading
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from gpugda.config import parse_bytes
from gpugda.errors import SourceError
from gpugda.folders import cache_folder, make_private_folder, privacy_problem
from gpugda.ports import DatabaseVersion, Projection
from gpugda.process import host_token
from gpugda.snapshot.cache_folder import lock_folder, remove_leftovers
from gpugda.snapshot.graph_arrays import saved_bytes
from gpugda.snapshot.manifest import VERSION, Manifest, read_manifest
from gpugda.snapshot.opening import open_snapshot
from gpugda.snapshot.store import save_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gpugda.data.data_graph import DataGraph

__all__ = ["CacheKey", "SnapshotCache", "open_cache"]

logger = logging.getLogger(__name__)

DEFAULT_SIZE = 4 * 2**30
_SUFFIX = ".snapshot"
_LOCK_SECONDS = 10.0
_ALL = Projection()


@dataclass(frozen=True, slots=True)
class CacheKey:
    """Identifies a cached snapshot.

    Args:
        address: Address of the server.
        database_id: Id of the database; without one nothing is kept: databases could be mixed up.
        transaction: Transaction id of the state.
        user: The user who read it: another user may see less.
        impersonated_user: The user as whom that user acted.
        projection: The part of the database that was read.
    """

    address: str
    database_id: str
    transaction: int
    user: str = ""
    impersonated_user: str = ""
    projection: Projection = _ALL

    @property
    def folder(self) -> str:
        """The entry's folder name: a hash of everything but the state, then the state."""
        return f"{self.family}-{self.transaction}{_SUFFIX}"

    @property
    def family(self) -> str:
        """Prefix shared by all states of the same database, user and projection."""
        facts = asdict(self)
        del facts["transaction"]
        text = json.dumps([VERSION, facts], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


class SnapshotCache:
    """A folder of snapshots, shared by all processes of one user.

    Args:
        folder: The folder; created when something is first kept.
        size_limit: Maximum size in bytes; beyond it the least recently used entries are removed.
    """

    def __init__(self, folder: Path, size_limit: int = DEFAULT_SIZE) -> None:
        self._folder = folder
        self._size_limit = size_limit
        self._lock = threading.Lock()
        self._warned = ""

    def find(self, key: CacheKey) -> Path | None:
        """The folder of an entry, marked as recently used; None if there is none."""
        path = self._folder / key.folder
        try:
            if not key.database_id or not path.is_dir() or not self._is_private():
                return None
        except OSError as error:
            logger.debug("the snapshot cache cannot be read: %s", error)
            return None
        with contextlib.suppress(OSError):  # readable is enough
            os.utime(path)
        return path

    def newest_before(self, key: CacheKey) -> CacheKey | None:
        """The entry of the newest earlier state of the same family; None if there is none."""
        if not key.database_id:
            return None
        found = max(map(_transaction, self._older(key)), default=None)
        return None if found is None else replace(key, transaction=found)

    def open(self, key: CacheKey) -> DataGraph | None:
        """The snapshot, or None; a damaged or mismatched one is removed."""
        path = self.find(key)
        if path is None:
            return None
        try:
            _check_state(read_manifest(path), key)
            # Written by this user's processes into a folder that no other user may write to.
            return open_snapshot(path, trust=True)
        except SourceError as error:
            if path.exists():  # otherwise another process has just removed it
                logger.warning("a cached snapshot is dropped: %s", error)
                self.drop(key)
            return None

    def put(self, key: CacheKey, graph: DataGraph) -> None:
        """Saves a snapshot and removes older states of it. Failures are logged, not raised."""
        if not key.database_id:
            return
        try:
            make_private_folder(self._folder)
            if not self._is_private():
                return
            with self._lock, lock_folder(self._folder, _LOCK_SECONDS) as locked:
                if locked:
                    self._put(key, graph)
                else:
                    logger.info("the snapshot is not kept: another process uses the cache")
        except (
            OSError,
            SourceError,
            ValueError,
            TypeError,
            LookupError,
            pa.ArrowException,
        ) as error:
            logger.warning("the snapshot is not kept in the cache: %s", error)

    def drop(self, key: CacheKey) -> None:
        """Removes an entry."""
        self._remove([self._folder / key.folder])

    def clear(self) -> None:
        """Removes all entries."""
        self._remove(list(self._entries()))

    def size(self) -> int:
        """Size of all entries in bytes."""
        return sum(map(_size, self._entries()))

    # -------------------------------------------------------------- inside
    def _put(self, key: CacheKey, graph: DataGraph) -> None:
        remove_leftovers(self._folder)
        self._remove(self._older(key))  # never needed again, as transaction ids only increase
        path = self._folder / key.folder
        if _holds(path, graph):
            os.utime(path)
            return
        needed = saved_bytes(graph)
        if needed > self._size_limit:
            logger.info(
                "the snapshot is not kept: it has %d bytes, GPUGDA_CACHE_SIZE allows %d",
                needed,
                self._size_limit,
            )
            return
        self._shrink(self._size_limit - needed, keep=path)
        free = shutil.disk_usage(self._folder).free
        if free < needed:
            raise OSError(f"{needed:,} bytes are needed in {self._folder}, {free:,} are free")
        save_snapshot(
            graph,
            path,
            partial=True,
            version=DatabaseVersion(key.database_id, key.transaction),
            projection=key.projection,
        )
        self._shrink(self._size_limit, keep=path)

    def _entries(self) -> Iterator[Path]:
        with contextlib.suppress(OSError):
            for path in list(self._folder.iterdir()):
                if path.name.endswith(_SUFFIX) and not path.name.startswith("."):
                    yield path

    def _older(self, key: CacheKey) -> list[Path]:
        return [
            path
            for path in self._entries()
            if path.name.startswith(f"{key.family}-") and _transaction(path) < key.transaction
        ]

    def _shrink(self, limit: int, keep: Path) -> None:
        """Removes least recently used entries, except ``keep``, until the total fits the limit."""
        entries = sorted(self._entries(), key=_last_used)
        sizes = {path: _size(path) for path in entries}
        total = sum(sizes.values())
        for path in entries:
            if total <= limit:
                return
            if path != keep:
                self._remove([path])
                total -= sizes[path]

    def _remove(self, paths: list[Path]) -> None:
        for path in paths:
            # Renamed first, so that no process finds half of it; mapped files stay readable.
            token = f"{host_token()}.{os.getpid()}.{time.monotonic_ns()}"
            gone = path.with_name(f".{path.name}.{token}.gone")
            try:
                path.rename(gone)
            except OSError:
                continue  # another process was faster
            shutil.rmtree(gone, ignore_errors=True)

    def _is_private(self) -> bool:
        reason = privacy_problem(self._folder)
        if reason and reason != self._warned:
            logger.warning("snapshots are not cached: %s", reason)
        self._warned = reason
        return not reason


def open_cache(environment: Mapping[str, str] | None = None) -> SnapshotCache | None:
    """The cache that ``GPUGDA_CACHE_DIR`` and ``GPUGDA_CACHE_SIZE`` ask for; None if switched off.

    Raises:
        ConfigurationError: The path or the size is invalid.
    """
    variables = os.environ if environment is None else environment
    folder = cache_folder(variables)
    if folder is None:
        return None
    size = parse_bytes(variables.get("GPUGDA_CACHE_SIZE"), name="GPUGDA_CACHE_SIZE")
    # A subfolder, which can be private whatever the user's own folder is.
    return SnapshotCache(folder / "snapshots", DEFAULT_SIZE if size is None else size)


def _check_state(manifest: Manifest, key: CacheKey) -> None:
    version = manifest.version
    if version is None or (version.database_id, version.transaction) != (
        key.database_id,
        key.transaction,
    ):
        raise SourceError("its state differs from its name")


def _holds(path: Path, graph: DataGraph) -> bool:
    """True if an entry has all properties that the graph has; the rest is equal by its name."""
    try:
        manifest = read_manifest(path)
    except SourceError:  # absent or damaged
        return False
    stores = (graph.node_properties, graph.relationship_properties)
    kept = (manifest.nodes_read, manifest.relationships_read)
    return all(
        keys is None or (not store.complete and store.loaded_keys <= set(keys))
        for store, keys in zip(stores, kept, strict=True)
    )


def _transaction(path: Path) -> int:
    digits = path.name.removesuffix(_SUFFIX).rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


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
