"""Connects an accelerator to a database server."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gpugda.answer.routing import Router
from gpugda.answer.server import ServerAnswers
from gpugda.errors import ConfigurationError, StaleSnapshotError
from gpugda.live.keeper import SnapshotKeeper
from gpugda.live.reading import EmptyShelf
from gpugda.live.shelf import DiskShelf
from gpugda.snapshot.cache import open_cache

if TYPE_CHECKING:
    from gpugda.config import Freshness
    from gpugda.live.reading import SnapshotShelf
    from gpugda.match.session import DeviceSession
    from gpugda.ports import DatabaseServer, Progress

__all__ = ["LOADS", "open_server"]

logger = logging.getLogger(__name__)

LOADS = ("now", "background")
"""When to read the first snapshot: while connecting, or while Neo4j answers the first queries."""


def open_server(
    server: DatabaseServer,
    session: DeviceSession,
    freshness: Freshness,
    *,
    planner: str,
    when: str,
    cache: bool,
    progress: Progress,
) -> ServerAnswers:
    """Makes the answers of a live database; closes the server on any error.

    Raises:
        ConfigurationError: An argument is invalid.
        SourceError: The database cannot be read.
    """
    try:
        if when not in LOADS:
            raise ConfigurationError(f"load is {when!r}; it can be {', '.join(map(repr, LOADS))}.")
        keeper = SnapshotKeeper(server, freshness, _shelf(server, cache), progress)
        answers = ServerAnswers(server, keeper, session, Router(planner, session, server), progress)
        _first_snapshot(server, keeper, when)
    except BaseException:
        server.close()
        raise
    return answers


def _first_snapshot(server: DatabaseServer, keeper: SnapshotKeeper, when: str) -> None:
    if not server.facts.sees_everything:
        level = logging.INFO if server.facts.database == "system" else logging.WARNING
        logger.log(level, "all queries go to the database: %s", server.facts.restriction)
        return
    if when == "background":
        keeper.refresh_soon()
        return
    try:
        keeper.refresh()
    except StaleSnapshotError as error:
        # No reason to refuse the connection: Neo4j answers the queries meanwhile.
        logger.warning("%s", error)


def _shelf(server: DatabaseServer, cache: bool) -> SnapshotShelf:
    found = open_cache() if cache and server.facts.has_bookmarks else None
    return EmptyShelf() if found is None else DiskShelf(found, server)
