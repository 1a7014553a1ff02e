"""Makes the driver's summary for queries that gpugda answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from neo4j import ResultSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gpugda.query.notices import Notice

__all__ = ["notifications_of", "statuses_of", "summary_of_reading"]

_NO_SERVER = SimpleNamespace(agent="gpugda", address=None, protocol_version=(5, 0))
_TELLS_STATUSES = (5, 5)
"""The first Bolt version in which a server sends GQL statuses instead of notifications."""

_RECORD = {"OPERATION": "", "OPERATION_CODE": "0", "CURRENT_SCHEMA": "/"}
_SOME = ("00000", "note: successful completion")
_NONE = ("02000", "note: no data")
_ORDER = ("02", "01", "00", "03")
"""Order of statuses: no data, warnings, success, information."""


def summary_of_reading(
    facts: Mapping[str, Any],
    times: Mapping[str, float],
    notices: Iterable[Notice],
    *,
    rows: int,
    plans: Mapping[str, Any],
) -> ResultSummary:
    """A ``neo4j.ResultSummary`` of a read-only query, as a server would send it.

    Args:
        facts: ``server``, ``db``, ``query`` and ``parameters`` as the driver names them.
        times: Seconds per stage, with ``total`` and optionally ``materialise``.
        notices: Notifications that Neo4j gives for the query.
        rows: Number of rows of the whole result.
        plans: ``plan`` or ``profile``, if the query asked for it.
    """
    make: Callable[..., ResultSummary] = ResultSummary  # its type annotations expect a server
    read = times.get("materialise", 0.0)
    server = facts["server"] or _NO_SERVER
    metadata: dict[str, Any] = {
        **facts,
        **plans,
        "server": server,
        "database": facts["db"],
        "t_first": round((times.get("total", 0.0) - read) * 1000),
        "type": "r",
        "t_last": round(read * 1000),
    }
    told = tuple(notices)
    if tuple(server.protocol_version) >= _TELLS_STATUSES:
        metadata["statuses"] = statuses_of(told, facts["query"], rows)
    elif told:
        metadata["notifications"] = notifications_of(told, facts["query"])
    return make(None, had_key=True, had_record=rows > 0, metadata=metadata)


# ------------------------------------------------------------------ the format of Bolt
def notifications_of(notices: Iterable[Notice], text: str) -> list[dict[str, Any]]:
    """The notifications as Bolt sends them before version 5.5."""
    return [_notification(each, text) for each in sorted(notices, key=_place_in_order)]


def statuses_of(notices: Iterable[Notice], text: str, rows: int) -> list[dict[str, Any]]:
    """The outcome and the notifications as Bolt sends them from version 5.5 on."""
    number, description = _SOME if rows else _NONE
    outcome = {
        "gql_status": number,
        "status_description": description,
        "diagnostic_record": dict(_RECORD),
    }
    found = [outcome, *(_status(each, text) for each in sorted(notices, key=_place_in_order))]
    return sorted(found, key=lambda status: _ORDER.index(str(status["gql_status"])[:2]))


def _place_in_order(notice: Notice) -> int:
    return _ORDER.index(notice.gql_status[:2])


def _status(notice: Notice, text: str) -> dict[str, Any]:
    record: dict[str, Any] = {
        "_classification": notice.category,
        "_severity": notice.severity,
        **_place(notice, text, "_position"),
        **_RECORD,
    }
    return {
        "gql_status": notice.gql_status,
        "status_description": notice.status,
        "neo4j_code": notice.neo4j_code,
        "title": notice.title,
        "description": notice.description,
        "diagnostic_record": record,
    }


def _notification(notice: Notice, text: str) -> dict[str, Any]:
    return {
        "title": notice.title,
        "code": notice.neo4j_code,
        "description": notice.description,
        "severity": notice.severity,
        "category": notice.category,
        **_place(notice, text, "position"),
    }


def _place(notice: Notice, text: str, name: str) -> dict[str, dict[str, int]]:
    if notice.span is None:
        return {}
    line, column = notice.span.place(text)
    return {name: {"offset": notice.span.start, "line": line, "column": column}}
