"""The Neo4j servers of the integration tests, and their logs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import neo4j_account
import neo4j_servers
import pytest
from neo4j_servers import RunningServer, Server, UnavailableError

_OPEN: list[Server] = []
_GROUPS = {
    "shared_server": "Neo4j-5.26",
    "shared_2026": "Neo4j-2026",
    "own_server": "Neo4j-2026",  # so that a worker busy with 5.26 does not have both
    "new_server": None,  # per module: its file is the group
}
"""The group of tests that one worker runs, by server; see `tests/workers.py`."""
_OF_VERSION = {"5.26": "shared_server", "2026": "shared_2026"}
_IN_MAKE_TEST = {"Neo4j-5.26"}
"""The others are marked slow: each needs another start of Neo4j."""


# ------------------------------------------------------------------ fixtures
def _open(name: str, image: str, **options: Any) -> Server:
    uri = neo4j_servers.running_uri() if image == neo4j_servers.IMAGE and not options else None
    try:
        opened = (
            RunningServer(uri)
            if uri
            else neo4j_servers.open_server(_of_worker(name), image, **options)
        )
        _OPEN.append(opened)
        neo4j_account.SERVERS[f"Neo4j {opened.version} in {opened.backend}"] = None
        return opened
    except UnavailableError as error:
        reason = f"no Neo4j server: {error}"
    return _give_up(reason)


def _of_worker(name: str) -> str:
    """The server's name on this worker: each worker keeps its own logs."""
    return "-".join(filter(None, (name, os.environ.get("PYTEST_XDIST_WORKER"))))


def _give_up(reason: str) -> Any:
    """Skips with the reason; fails in CI, where a server is required."""
    if os.environ.get("CI", "").lower() in ("1", "true"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _close(opened: Server) -> None:
    opened.close()
    _OPEN.remove(opened)


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    """Neo4j 5.26 without a password; use `server`."""
    opened = _open("neo4j-5.26", neo4j_servers.IMAGE)
    yield opened
    _close(opened)


@pytest.fixture(scope="session")
def shared_2026() -> Iterator[Server]:
    """Neo4j 2026 without a password; use `neo4j_2026`."""
    opened = _open("neo4j-2026", neo4j_servers.IMAGE_2026)
    yield opened
    _close(opened)


@pytest.fixture
def server(shared_server: Server) -> Server:
    """Neo4j 5.26 whose data the test owns: it begins with `load`, `create` or `wipe`."""
    return _writable(shared_server)


@pytest.fixture(scope="session")
def writable_server(shared_server: Server) -> Server:
    """As `server`, for a module's own fixtures: each module loads its data itself."""
    return _writable(shared_server)


@pytest.fixture
def neo4j_2026(shared_2026: Server) -> Server:
    """A current Neo4j, with the same rules."""
    return _writable(shared_2026)


@pytest.fixture(params=["5.26", "2026"])
def each_server(request: pytest.FixtureRequest) -> Server:
    """Both versions, one after the other."""
    return _writable(request.getfixturevalue(_OF_VERSION[request.param]))


@pytest.fixture(scope="session")
def neo4j_uri(shared_server: Server) -> str:
    """Address of the 5.26 server. Do not write without `server`."""
    return shared_server.uri


@pytest.fixture(scope="session")
def neo4j_auth(shared_server: Server) -> tuple[str, str] | None:
    """The server's user and password; None without authentication."""
    return shared_server.auth


@pytest.fixture(scope="session")
def own_server() -> Iterator[Server]:
    """5.26 with a password, may be stopped and killed; users begin with `start` and `wipe`.

    Shared by all tests, as a start takes a quarter of a minute of processor time.
    """
    opened = _open("own", neo4j_servers.IMAGE, auth=neo4j_servers.AUTH)
    yield opened
    _close(opened)


@pytest.fixture(scope="module")
def new_server() -> Iterator[Callable[..., Server]]:
    """Opens servers for one module, with its settings: `new_server(name, auth=, settings=)`."""
    made: list[Server] = []

    def make(name: str, image: str = neo4j_servers.IMAGE, **options: Any) -> Server:
        made.append(_open(name, image, **{"settings": {}, **options}))
        return made[-1]

    yield make
    for opened in made:
        _close(opened)


@pytest.fixture(scope="session")
def plugin_jar() -> Path:
    """The plugin's jar; tests that need it are skipped if it cannot be built."""
    try:
        return neo4j_servers.plugin_jar()
    except UnavailableError as error:
        pytest.skip(str(error))


def _writable(opened: Server) -> Server:
    try:
        opened.check_writable()
    except UnavailableError as error:
        _give_up(str(error))
    return opened


# ------------------------------------------------------------------ groups and reports
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if used := _servers_of(item):
            item.add_marker("neo4j")
            groups = {_GROUPS[name] for name in used} - {None}
            if len(groups) > 1:
                raise pytest.UsageError(f"{item.nodeid} uses servers of two groups: {used}")
            for group in groups:
                item.add_marker(pytest.mark.group(group))
            if not groups <= _IN_MAKE_TEST or "new_server" in used:
                item.add_marker("slow")


def _servers_of(item: pytest.Item) -> set[str]:
    used = set(_GROUPS).intersection(getattr(item, "fixturenames", ()))
    if "each_server" in getattr(item, "fixturenames", ()):
        used.add(_OF_VERSION[item.callspec.params["each_server"]])  # type: ignore[attr-defined]
    return used


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    if report.failed and item.get_closest_marker("neo4j"):
        report.sections += [(f"log of {opened.backend}", opened.log()) for opened in _OPEN]
    return report
