"""A plugin of pytest: how the tests are shared among worker processes, where there are several.

A file stays on one worker, as its fixtures cost more than most of its tests. Tests of one server,
which are marked with its group (`tests/integration/conftest.py`), stay together too: a worker that
has one of them starts that server. They begin first, as they are the longest pieces of work.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("numprocesses", None):
        config.option.dist = "loadgroup"  # workers then write the group behind a test's name


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        """Groups where there are any, else files; in the order of the tests."""

        def _split_scope(self, nodeid: str) -> str:
            _, sign, group = nodeid.rpartition("@")
            if sign and "]" not in group:  # else it is part of a parameter
                return group
            return str(super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest pieces of work first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
