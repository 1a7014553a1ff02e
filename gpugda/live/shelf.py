"""Snapshots of one database and user, kept on disk between processes."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpugda.errors import SourceError
from gpugda.loading import LoadedGraph
from gpugda.snapshot.cache import CacheKey, SnapshotCache
from gpugda.snapshot.store import open_snapshot

if TYPE_CHECKING:
    from gpugda.ports import DatabaseServer, DatabaseVersion

__all__ = ["DiskShelf"]

logger = logging.getLogger(__name__)

_WORTH_SECONDS = 0.5
"""A snapshot that is read faster than this is not worth a place on disk."""


class DiskShelf:
    """The cache folder's snapshots of one server, database, user and restriction.

    Args:
        cache: The folder.
        server: Whose facts make the key.
    """

    def __init__(self, cache: SnapshotCache, server: DatabaseServer) -> None:
        self._cache = cache
        self._server = server

    def find(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The snapshot of exactly this state; one that cannot be read is dropped."""
        key = self._key(version)
        started = time.perf_counter()
        folder = self._cache.find(key)
        if folder is None:
            return None
        try:
            graph = open_snapshot(folder)
        except SourceError as error:
            logger.warning("a cached snapshot is dropped: %s", error)
            self._cache.drop(key)
            return None
        seconds = time.perf_counter() - started
        loaded = LoadedGraph(graph, self._server.name, seconds, datetime.now(UTC), version)
        logger.info("snapshot of transaction %d from the cache", version.transaction)
        return loaded

    def keep(self, loaded: LoadedGraph) -> None:
        """Keeps a snapshot that took long to read."""
        if loaded.version is not None and loaded.seconds >= _WORTH_SECONDS:
            self._cache.put(self._key(loaded.version), loaded.graph)

    def _key(self, version: DatabaseVersion) -> CacheKey:
        facts = self._server.facts
        return CacheKey(
            address=facts.address,
            database_id=version.database_id,
            transaction=version.transaction,
            user=facts.user,
            impersonated_user=facts.impersonated_user,
            projection=self._server.projection,
        )
