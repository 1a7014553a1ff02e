"""Bolt's messages, and the metadata of answers in the form that Neo4j gives them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from gpugda.errors import (
    ConfigurationError,
    GpugdaError,
    MemoryLimitError,
    QueryError,
    QueryTimeoutError,
    UnsupportedQueryError,
)
from gpugda.result.neo4j_summary import notifications_of, statuses_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda.query.notices import Notice
    from gpugda.result.summary import Summary
    from gpugda.serve.framing import Version

__all__ = [
    "NoticeFilter",
    "RefusedError",
    "Tag",
    "facts_of_gpugda",
    "failure_of",
    "told",
]


class Tag(IntEnum):
    """Tags of messages."""

    HELLO = 0x01
    GOODBYE = 0x02
    RESET = 0x0F
    RUN = 0x10
    BEGIN = 0x11
    COMMIT = 0x12
    ROLLBACK = 0x13
    DISCARD = 0x2F
    PULL = 0x3F
    TELEMETRY = 0x54
    ROUTE = 0x66
    LOGON = 0x6A
    LOGOFF = 0x6B
    SUCCESS = 0x70
    RECORD = 0x71
    IGNORED = 0x7E
    FAILURE = 0x7F


# ------------------------------------------------------------------ failures
class RefusedError(Exception):
    """A failure to send to the client.

    Args:
        code: Neo4j's status code.
        message: One sentence.
        gql_status: The GQLSTATUS; by default the one of errors without their own.
    """

    def __init__(self, code: str, message: str, gql_status: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.gql_status = gql_status

    def metadata(self, version: Version) -> dict[str, Any]:
        """The failure in the form of a version."""
        if version < _TELLS_GQL_FAILURES:
            return {"code": self.code, "message": str(self)}
        status, description = "50N42", _UNEXPECTED
        if self.gql_status is not None:
            status, description = self.gql_status, f"error: {str(self).splitlines()[0]}"
        return {
            "neo4j_code": self.code,
            "message": str(self),
            "gql_status": status,
            "description": description,
            "diagnostic_record": {"_classification": _classification(self.code)},
        }


_TELLS_GQL_FAILURES = (5, 7)
_TELLS_STATUSES = (5, 5)
_OMITTED = {
    "gql_status": "00001",
    "status_description": "note: successful completion - omitted result",
}
_UNEXPECTED = (
    "error: general processing exception - unexpected error. Unexpected error has occurred. See "
    "debug log for details."
)
_WRITES = (
    "CREATE,MERGE,INSERT,DELETE,DETACH,NODETACH,SET,REMOVE,DROP,ALTER,FOREACH,GRANT,DENY,REVOKE,"
    "RENAME,START,STOP,TERMINATE"
)


def _classification(code: str) -> str:
    kind = code.split(".")[1]
    return {"ClientError": "CLIENT_ERROR", "TransientError": "TRANSIENT_ERROR"}.get(
        kind, "DATABASE_ERROR"
    )


def failure_of(error: Exception, *, cancelled: bool = False) -> RefusedError:
    """The failure that tells the client of an error."""
    if isinstance(error, RefusedError):
        return error
    if cancelled:
        code = "Neo.TransientError.Transaction.Terminated"
        return RefusedError(code, "The transaction has been terminated by the client.")
    message = str(error) or type(error).__name__
    if isinstance(error, UnsupportedQueryError):
        return RefusedError(_code_of_unsupported(error), message)
    if isinstance(error, QueryError) and error.code:
        return RefusedError(error.code, message, getattr(error, "gql_status", None))
    for kind, code in _CODES:
        if isinstance(error, kind):
            return RefusedError(code, message)
    return RefusedError(
        "Neo.DatabaseError.General.UnknownError", f"{type(error).__name__}: {message}"
    )


_CODES: tuple[tuple[type[GpugdaError], str], ...] = (
    (QueryTimeoutError, "Neo.ClientError.Transaction.TransactionTimedOut"),
    (MemoryLimitError, "Neo.TransientError.General.MemoryPoolOutOfMemoryError"),
    (ConfigurationError, "Neo.ClientError.Statement.ArgumentError"),
    (GpugdaError, "Neo.DatabaseError.General.UnknownError"),
)


def _code_of_unsupported(error: UnsupportedQueryError) -> str:
    if error.construct.partition(" ")[0].upper() in _WRITES.split(","):
        # Not ForbiddenOnReadOnlyDatabase: drivers look for another server then, and try again.
        return "Neo.ClientError.Statement.AccessMode"
    return "Neo.ClientError.Statement.UnsupportedOperationError"


# ------------------------------------------------------------------ notifications
class NoticeFilter:
    """Which notifications a client wants to have.

    Args:
        extra: The map of HELLO, RUN or BEGIN.
        default: The filter that holds where the map says nothing.
    """

    def __init__(self, extra: Mapping[str, Any], default: NoticeFilter | None = None) -> None:
        severity: str | None = extra.get("notifications_minimum_severity")
        disabled = extra.get(
            "notifications_disabled_classifications",
            extra.get("notifications_disabled_categories"),
        )
        self._severity: str = severity or (default._severity if default else "INFORMATION")
        self._disabled = frozenset(disabled or ()) if disabled is not None else frozenset()
        if disabled is None and default is not None:
            self._disabled = default._disabled

    def passes(self, notices: Iterable[Notice]) -> list[Notice]:
        """The notifications that the client wants."""
        if self._severity == "OFF":
            return []
        return [
            each
            for each in notices
            if each.category not in self._disabled
            and (self._severity != "WARNING" or each.severity == "WARNING")
        ]


def told(
    summary: Summary, version: Version, wanted: NoticeFilter, *, ran: bool
) -> dict[str, list[dict[str, Any]]]:
    """Notifications and GQL statuses for the last message of a result.

    Args:
        summary: The result's summary.
        version: The version of Bolt.
        wanted: The client's choice.
        ran: False if only the plan was asked for.
    """
    notices = wanted.passes(summary.all_notices)
    if version >= _TELLS_STATUSES:
        statuses = statuses_of(notices, summary.query, summary.rows)
        if not ran:
            statuses = [_OMITTED if each["gql_status"] == "02000" else each for each in statuses]
        return {"statuses": statuses}
    return {"notifications": notifications_of(notices, summary.query)} if notices else {}


def facts_of_gpugda(summary: Summary) -> dict[str, Any]:
    """What happened, for those who want to know: engine, reason and seconds of each stage."""
    found: dict[str, Any] = {
        "engine": summary.engine,
        "reason": summary.reason,
        "seconds": dict(summary.timings),
    }
    more = {
        "device": summary.device,
        "freshness": summary.freshness,
        "warnings": list(summary.warnings),
    }
    return {**found, **{name: value for name, value in more.items() if value}}
