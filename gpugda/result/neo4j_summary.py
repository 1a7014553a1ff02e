"""The driver's summary for queries that no server answered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from neo4j import ResultSummary

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.result.summary import Summary

__all__ = ["summary_for_driver"]

_NO_SERVER = SimpleNamespace(agent="gpugda", address=None, protocol_version=(5, 0))


def summary_for_driver(summary: Summary) -> ResultSummary:
    """A ``neo4j.ResultSummary`` of a query that the device or the reference answered."""
    make: Callable[..., ResultSummary] = ResultSummary  # typed for what a server sends
    times = summary.timings
    read = times.get("materialise", 0.0)
    metadata: dict[str, Any] = {
        "server": summary.server or _NO_SERVER,
        "db": summary.database or None,
        "query": summary.query,
        "parameters": dict(summary.parameters),
        "type": "r",
        "t_first": round((times.get("total", 0.0) - read) * 1000),
        "t_last": round(read * 1000),
    }
    if summary.warnings:
        metadata["notifications"] = [_notification(each) for each in summary.warnings]
    return make(None, had_key=True, had_record=summary.rows > 0, metadata=metadata)


def _notification(text: str) -> dict[str, Any]:
    return {
        "code": "Gpugda.ClientNotification.Statement.Warning",
        "title": "A remark on the query.",
        "description": text,
        "severity": "INFORMATION",
        "category": "PERFORMANCE",
    }
