"""A plugin of pytest: how the tests are shared among worker processes, where there are several.

A file stays on one worker, as its fixtures cost more than most of its tests. Tests of one server,
which are marked with its group (`tests/integration/conftest.py`), stay together too: a worker that
has one of them starts that server. They begin first, as they are the longest pieces of work.
"""

from __future__ import annotations

from typing import Any

import pytest


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
    """The longest pieces of work first; a group stands behind a test's name."""
    if not hasattr(config, "workerinput"):
        return
    items.sort(key=lambda item: item.get_closest_marker("group") is None)
    for item in items:
        if marker := item.get_closest_marker("group"):
            # Private, but the name is all that the other process learns: xdist does the same.
            item._nodeid = f"{item.nodeid}@{marker.args[0]}"
