"""A pytest plugin that records how long each test took: elapsed and processor seconds.

Written to `build/test-durations.json` after every run. Processor seconds are comparable even on a
busy machine: they count the test's own process with all its threads, and the child processes that
it waited for. The time of a server that a test starts counts for the test that stops it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

WRITTEN = Path(__file__).resolve().parents[1] / "build" / "test-durations.json"
Seconds = Counter[str]
"""Seconds by `wall` and `processor`."""


class _Run:
    """Measurements of the tests so far.

    since: The process's time at the last report.
    """

    def __init__(self) -> None:
        self.since = 0.0
        self.tests: dict[str, Seconds] = {}
        self.workers: dict[str, Seconds] = {}


_run = _Run()


def _processor() -> float:
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
    report = yield
    now = _processor()
    report.processor, _run.since = now - _run.since, now
    return report


def pytest_runtest_logstart() -> None:
    _run.since = _processor()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    taken = Counter(wall=report.duration, processor=getattr(report, "processor", 0.0))
    _run.tests.setdefault(report.nodeid, Counter()).update(taken)
    _run.workers.setdefault(getattr(report, "worker_id", "main"), Counter()).update(taken)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if hasattr(terminalreporter.config, "workerinput") or not _run.tests:
        return
    files: dict[str, Seconds] = {}
    for nodeid, taken in _run.tests.items():
        files.setdefault(nodeid.partition("::")[0], Counter()).update(taken)
    account = {name: _sorted(value) for name, value in _parts(files).items()}
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(json.dumps(account, indent=1))
    each = "; ".join(f"{worker} {_text(taken)}" for worker, taken in account["workers"].items())
    terminalreporter.write_line(f"durations in {WRITTEN}: {each}")


def _parts(files: dict[str, Seconds]) -> dict[str, dict[str, Seconds]]:
    return {"workers": _run.workers, "files": files, "tests": _run.tests}


def _sorted(seconds: dict[str, Seconds]) -> dict[str, dict[str, float]]:
    """Longest first."""
    by_length = sorted(seconds.items(), key=lambda pair: -pair[1]["wall"])
    return {
        name: {key: round(taken[key], 3) for key in ("wall", "processor")}
        for name, taken in by_length
    }


def _text(taken: dict[str, float]) -> str:
    return f"{taken['wall']:.0f} s ({taken['processor']:.0f} s of a processor)"
