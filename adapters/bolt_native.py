"""Runs the user's query on the server."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import neo4j
from neo4j.exceptions import DriverError, Neo4jError

from gpugda.data.values.dehydration import for_driver
from gpugda.errors import QueryTimeoutError
from gpugda.ports import NativeAnswer

from .bolt_errors import is_timeout

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.deadline import Cancellation
    from gpugda.ports import Progress

    from .bolt_connection import BoltConnection

__all__ = ["run_native"]

# The server checks its time limit about every two seconds; it gets that and more before the
# connection is cut from this side.
_GRACE_SECONDS = 5.0
# Rows per request. More is hardly faster, and unread rows stay in the server's heap memory: a large
# result, fetched at once, exhausts that.
_FETCH_ROWS = 4_000
_STEP = 10_000


def run_native(
    connection: BoltConnection,
    text: str,
    parameters: Mapping[str, Any],
    *,
    timeout: float | None,
    read_only: bool,
    progress: Progress | None,
    metadata: Mapping[str, Any] | None,
    cancellation: Cancellation,
) -> NativeAnswer:
    """See `gpugda.ports.DatabaseServer.run_native`.

    The server manages the transaction (auto-commit), so that ``CALL {…} IN TRANSACTIONS`` works.
    """
    query = neo4j.Query(text, metadata=dict(metadata or {}) or None, timeout=timeout)
    limit = None if timeout is None else timeout + _GRACE_SECONDS
    started = monotonic()
    with (
        connection.session(
            access="READ" if read_only else "WRITE",
            fetch_size=_FETCH_ROWS,
            quiet=False,
            connect_seconds=limit,
        ) as session,
        connection.watch(session, limit) as guard,
        cancellation.ended_by(guard.fire_soon),
    ):
        try:
            return _answer(connection, session, query, parameters, progress)
        except (Neo4jError, DriverError) as error:
            waited = monotonic() - started
            over = timeout is not None and waited >= timeout and is_timeout(error)
            # The driver gives up a silent server at the same moment as the guard.
            silent = limit is not None and waited >= limit and isinstance(error, DriverError)
            if cancellation.cancelled:
                raise QueryTimeoutError("the query was cancelled") from error
            if guard.fired or over or silent:
                raise QueryTimeoutError(
                    f"The query took longer than its {timeout:g} s in {connection.facts.product}; "
                    "nothing is returned. Give it more time, or make it smaller."
                ) from error
            raise


def _answer(
    connection: BoltConnection,
    session: neo4j.Session,
    query: neo4j.Query,
    parameters: Mapping[str, Any],
    progress: Progress | None,
) -> NativeAnswer:
    result = session.run(query, for_driver(dict(parameters)))
    keys = result.keys()
    records = list(result) if progress is None else _records(result, progress)
    summary = result.consume()
    version = connection.version_of(session.last_bookmarks().raw_values)
    return NativeAnswer(tuple(keys), records, summary, version)


def _records(result: neo4j.Result, progress: Progress) -> list[neo4j.Record]:
    progress.phase("rows from the server")
    records: list[neo4j.Record] = []
    while len(some := result.fetch(_STEP)) > 0:
        records += some
        progress.advance(len(some))
    return records
