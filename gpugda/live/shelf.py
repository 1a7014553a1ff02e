"""Snapshots of one database and user, saved on disk between processes."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpugda.loading import LoadedGraph
from gpugda.ports import DatabaseVersion
from gpugda.snapshot.cache import CacheKey, SnapshotCache

if TYPE_CHECKING:
    from gpugda.ports import DatabaseServer

__all__ = ["DiskShelf"]

logger = logging.getLogger(__name__)

_WORTH_SECONDS = 0.5
"""A snapshot that is read faster than this is not saved."""


class DiskShelf:
    """The cache folder's snapshots of one server, database, user and projection.

    Args:
        cache: The cache folder.
        server: The server, whose facts make the key.
    """

    def __init__(self, cache: SnapshotCache, server: DatabaseServer) -> None:
        self._cache = cache
        self._server = server

    def find(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The snapshot of exactly this state; an unreadable one is removed."""
        return self._opened(self._key(version), version)

    def find_earlier(self, version: DatabaseVersion) -> LoadedGraph | None:
        """The newest snapshot of an earlier state, to be brought up to date by changes."""
        key = self._cache.newest_before(self._key(version))
        if key is None:
            return None
        return self._opened(key, DatabaseVersion(version.database_id, key.transaction))

    def _opened(self, key: CacheKey, version: DatabaseVersion) -> LoadedGraph | None:
        started = time.perf_counter()
        graph = self._cache.open(key)
        if graph is None:
            return None
        seconds = time.perf_counter() - started
        loaded = LoadedGraph(
            graph,
            self._server.name,
            seconds,
            datetime.now(UTC),
            version,
            self._server.projection,
        )
        logger.info("snapshot of transaction %d from the cache", version.transaction)
        return loaded

    def keep(self, loaded: LoadedGraph) -> None:
        """Saves a snapshot that took long to read, or one whose database is on disk already."""
        if loaded.version is None:
            return
        key = self._key(loaded.version)
        is_worth = loaded.seconds >= _WORTH_SECONDS or self._cache.newest_before(key) is not None
        if is_worth or self._cache.find(key) is not None:
            self._cache.put(key, loaded.graph)

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
