"""A plugin of pytest: how the tests are shared among worker processes, where there are several."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

SERVER_TESTS = "tests/integration/"
LOCKS = Path(__file__).resolve().parents[1] / "build" / "test-locks"
_kept: list[ExitStack] = []
"""The turn of timed tests that follow each other: else each waited for one of another worker."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        """A file stays on one worker, and so do all tests of one database; files in their order."""

        def _split_scope(self, nodeid: str) -> str:
            scope: str = super()._split_scope(nodeid)
            return SERVER_TESTS if scope.startswith(SERVER_TESTS) else scope

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest piece of work first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: not item.nodeid.startswith(SERVER_TESTS))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[Any]:
    if not hasattr(item.config, "workerinput"):
        return (yield)
    with _kept.pop() if (kept := bool(_kept)) else ExitStack() as turn:
        if not kept:
            turn.enter_context(_turn(alone=_is_timed(item)))
        result = yield
        if _is_timed(item) and _is_timed(nextitem):
            _kept.append(turn.pop_all())
    return result


def _is_timed(item: pytest.Item | None) -> bool:
    return item is not None and item.get_closest_marker("timed") is not None


@contextmanager
def _turn(*, alone: bool) -> Iterator[None]:
    """No other worker has one at the same time, where either wants to be alone."""
    import fcntl

    LOCKS.mkdir(parents=True, exist_ok=True)
    with (LOCKS / "door").open("w") as door, (LOCKS / "room").open("w") as room:
        fcntl.flock(door, fcntl.LOCK_EX)  # who waits for the room to be empty lets nobody in
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        yield
