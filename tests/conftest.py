"""Shared by all tests: hypothesis profiles, the header, real graphs from beside the checkout."""

import gc
import os
from pathlib import Path

import durations
import neo4j_account
import neo4j_servers
import pytest
import splits_in_turn
import workers

import strategies  # noqa: F401 - registers the hypothesis profiles

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("GPUGDA_SHARED", ROOT.parent / "shared"))


def pytest_configure(config):
    config.pluginmanager.register(durations)
    config.pluginmanager.register(neo4j_account)
    config.pluginmanager.register(splits_in_turn)
    config.pluginmanager.register(workers)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Garbage collections are rarer, and do not scan the million objects that the tests are."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000)
        gc.enable()


def pytest_report_header(config):
    from gpugda.device.context import list_devices

    uri = neo4j_servers.running_uri()
    devices = [f"{device.name} ({device.platform})" for device in list_devices()]
    return [
        f"OpenCL devices: {', '.join(devices) or 'none'}",
        f"Neo4j: {uri or neo4j_servers.expected_backend(neo4j_servers.IMAGE)}",
        f"real graphs: {SHARED / 'data' if (SHARED / 'data').is_dir() else 'absent'}",
    ]


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real graphs."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"no real graphs: {folder.name} is not beside the checkout (set GPUGDA_SHARED)")
    return folder


@pytest.fixture(scope="session", autouse=True)
def launches():
    """The device joins patterns however small their graph is; `walks` undoes that.

    Most tests are about what it does, and their graphs are small enough for the host.
    """
    from gpugda.match.extend.strategy import ExtendStrategy

    usual = ExtendStrategy.walked_pairs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ExtendStrategy, "walked_pairs", 0)
        yield usual


@pytest.fixture
def walks(launches, monkeypatch):
    """Small patterns are walked on the host, as for users."""
    from gpugda.match.extend.strategy import ExtendStrategy

    monkeypatch.setattr(ExtendStrategy, "walked_pairs", launches)


@pytest.fixture(scope="session", autouse=True)
def compiled_kernels():
    """All kernels are compiled."""
    from kernels_compiled import compile_kernels

    compile_kernels(os.environ.get("PYTEST_XDIST_WORKER", ""))
