"""Explains queries that a live database would answer: its plan, the reason, and the row count."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gpugda.plan.estimate import Estimate
from gpugda.plan.explain import Explanation

if TYPE_CHECKING:
    from gpugda.answer.request import Request
    from gpugda.ports import DatabaseServer

__all__ = ["explained_by_database"]

_MODE: Final = re.compile(r"\s*(EXPLAIN|PROFILE)\b", re.IGNORECASE)
_UNKNOWN: Final = float("nan")


def explained_by_database(request: Request, server: DatabaseServer, reason: str) -> Explanation:
    """Explains a query that the database answers, with the database's own plan; runs nothing.

    Args:
        request: The query.
        server: The database.
        reason: Why the database answers.

    Raises:
        QueryTimeoutError: The time limit passed.
        neo4j.exceptions.Neo4jError: The server rejected the query.
    """
    text = _MODE.sub("", request.text, count=1)
    answer = server.run_native(
        f"EXPLAIN {text}", request.values, timeout=request.seconds_left(), read_only=False
    )
    plan = getattr(answer.summary, "plan", None) or {}
    rows = _estimated_rows(plan)
    lines = [f"expected by the database: {_number(rows)} rows"] if rows == rows else []
    lines += _steps(plan)
    return Explanation(Estimate(rows, 0), engine="native", reason=reason, lines=lines)


def _estimated_rows(plan: dict[str, Any]) -> float:
    found = plan.get("args", {}).get("EstimatedRows")
    return _UNKNOWN if found is None else float(found)


def _number(rows: float) -> str:
    return f"{rows:,.0f}" if rows >= 100 else f"{rows:.3g}"


def _steps(plan: dict[str, Any], depth: int = 0) -> list[str]:
    """Lines for the operators of the server's plan, each before its inputs."""
    if not plan:
        return []
    name = str(plan.get("operatorType", "")).partition("@")[0]
    details = plan.get("args", {}).get("Details", "")
    rows = _estimated_rows(plan)
    expected = f"  {_number(rows)} rows" if rows == rows else ""
    lines = [f"{'  ' * (depth + 1)}{name}  {details}".rstrip() + expected]
    for child in plan.get("children", ()):
        lines += _steps(child, depth + 1)
    return lines
