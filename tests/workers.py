"""A pytest plugin that distributes tests among worker processes.

A file stays on one worker, as its fixtures cost more than most of its tests. Tests of one server,
which are marked with its group (`tests/integration/conftest.py`), stay together too: a worker that
has one of them starts that server. They begin first, as they take longest.

Only workers know marks, and they report only test names to the process that distributes the
tests; so they write down which tests have a group.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import Any

import pytest

WRITTEN = Path(__file__).resolve().parents[1] / "build" / "test-groups.json"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        """Groups if there are any, else files; in the order of the tests."""

        @functools.cached_property
        def _groups(self) -> dict[str, str]:
            groups: dict[str, str] = json.loads(WRITTEN.read_text())
            return groups

        def _split_scope(self, nodeid: str) -> str:
            return self._groups.get(nodeid) or str(super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Longest units of work first."""
    if not hasattr(config, "workerinput"):
        return
    found = {item.nodeid: item.get_closest_marker("group") for item in items}
    groups = {nodeid: marker.args[0] for nodeid, marker in found.items() if marker}
    items.sort(key=lambda item: item.nodeid not in groups)
    WRITTEN.parent.mkdir(exist_ok=True)
    own = WRITTEN.with_suffix(f".{config.workerinput['workerid']}")
    own.write_text(json.dumps(groups))
    os.replace(own, WRITTEN)  # each worker writes the same content
