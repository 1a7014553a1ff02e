"""Answers a query with the database itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpugda.errors import GpugdaError
from gpugda.result.result import Result

if TYPE_CHECKING:
    from gpugda.answer.request import Request
    from gpugda.ports import DatabaseServer, DatabaseVersion

__all__ = ["answer_natively"]


def answer_natively(
    request: Request, server: DatabaseServer, reason: str
) -> tuple[Result, float, DatabaseVersion | None]:
    """Returns the result, the server's seconds, and the database state that its answer reports.

    Raises:
        QueryTimeoutError: The time limit passed.
        neo4j.exceptions.Neo4jError: The server failed or rejected the query.
    """
    timeout = request.seconds_left()
    started = time.perf_counter()
    answer = server.run_native(
        request.text,
        request.values,
        timeout=timeout,
        read_only=_only_reads(request),
        metadata=request.metadata,
    )
    seconds = time.perf_counter() - started
    request.add_time("native", seconds)
    request.notes.pop("freshness", None)
    summary = request.summary(
        engine="native",
        reason=reason,
        snapshot=server.name,
        rows=len(answer.records),
        native=answer.summary,
    )
    return Result.from_native(answer, summary), seconds, answer.version


def _only_reads(request: Request) -> bool:
    """True if the query is known to write nothing; a query that we cannot parse may write."""
    try:
        request.prepared()
    except GpugdaError:
        return False
    return True
