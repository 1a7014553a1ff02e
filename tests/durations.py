"""A plugin of pytest: how long each test took, in seconds passed and in seconds of a processor.

Written to `build/test-durations.json` after every run. Seconds of a processor hold on a busy
machine: those of the test's own process with all its threads, and of the child processes that it
waited for. What a server takes that was started in a test is counted in the test that ends it.
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
"""By `wall` and `processor`."""


class _Run:
    """What is known of the tests so far.

    since: The process's time when the last report was made.
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
    """The longest first."""
    by_length = sorted(seconds.items(), key=lambda pair: -pair[1]["wall"])
    return {
        name: {key: round(taken[key], 3) for key in ("wall", "processor")}
        for name, taken in by_length
    }


def _text(taken: dict[str, float]) -> str:
    return f"{taken['wall']:.0f} s ({taken['processor']:.0f} s of a processor)"
