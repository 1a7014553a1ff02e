"""The driver's summary for queries that no server answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from neo4j import ResultSummary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["summary_of_reading"]

_NO_SERVER = SimpleNamespace(agent="gpugda", address=None, protocol_version=(5, 0))


def summary_of_reading(
    facts: Mapping[str, Any], times: Mapping[str, float], warnings: Sequence[str], *, rows: int
) -> ResultSummary:
    """A ``neo4j.ResultSummary`` of a query that only read.

    Args:
        facts: ``server``, ``db``, ``query`` and ``parameters`` as the driver names them.
        times: Seconds per stage, with ``total`` and maybe ``materialise``.
        warnings: Sentences; they become notifications.
        rows: Of the whole result.
    """
    make: Callable[..., ResultSummary] = ResultSummary  # typed for what a server sends
    read = times.get("materialise", 0.0)
    metadata: dict[str, Any] = {
        **facts,
        "server": facts["server"] or _NO_SERVER,
        "type": "r",
        "t_first": round((times.get("total", 0.0) - read) * 1000),
        "t_last": round(read * 1000),
    }
    if warnings:
        metadata["notifications"] = [_notification(each) for each in warnings]
    return make(None, had_key=True, had_record=rows > 0, metadata=metadata)


def _notification(text: str) -> dict[str, Any]:
    return {
        "code": "Gpugda.ClientNotification.Statement.Warning",
        "title": "A remark on the query.",
        "description": text,
        "severity": "INFORMATION",
        "category": "PERFORMANCE",
    }
