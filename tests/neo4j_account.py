"""A pytest plugin that reports the Neo4j servers used, and the results of their tests.

A server is opened in the process that runs the test. The report is written where results are
collected: the same process, or the one that controls the workers.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from neo4j_servers import LOGS

SERVERS: dict[str, None] = {}
"""Versions and backends, in order."""
_OUTCOMES: Counter[str] = Counter()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if "neo4j" in report.keywords and (report.when == "call" or report.outcome != "passed"):
        _OUTCOMES[report.outcome] += 1


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["neo4j_servers"] = list(SERVERS)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    SERVERS.update(dict.fromkeys(getattr(node, "workeroutput", {}).get("neo4j_servers", ())))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not _OUTCOMES:
        return
    terminalreporter.section("Neo4j")
    for used in SERVERS:
        terminalreporter.write_line(used)
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(_OUTCOMES.items()))
    terminalreporter.write_line(f"tests that need a server: {counts}; logs: {LOGS}")
    LOGS.mkdir(parents=True, exist_ok=True)
    (LOGS / "summary.json").write_text(json.dumps({"servers": list(SERVERS), **_OUTCOMES}))
