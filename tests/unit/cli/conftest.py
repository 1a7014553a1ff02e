from __future__ import annotations

import logging
import sys
from types import ModuleType

import pytest
from gpugda_adapters.read_import import ImportSource
from typer.testing import CliRunner

from gpugda.cli.app import app
from gpugda.result.result import Result
from gpugda.result.summary import Summary


class FakeAccelerator:
    """Answers every query with the given rows, or raises the given error."""

    def __init__(self, names, rows, graph=None):
        self.names, self.rows, self.graph = names, rows, graph
        self.error = None
        self.connected = None
        self.ran = None
        self.closed = False
        self.refreshed = 0

    def connect(self, source, **options):
        self.connected = (source, options)
        return self

    def run(self, text, parameters=None, **options):
        self.ran = (text, parameters, options)
        if self.error is not None:
            raise self.error
        summary = Summary("reference", "a test", text, timings={"total": 0.01}, rows=len(self.rows))
        return Result.from_rows(self.names, self.rows, self.graph, summary)

    def explain(self, text, *, strategy=None, rules=False):
        return f"the plan of {text}"

    def refresh(self):
        self.refreshed += 1

    def status(self):
        return {
            "source": "fake",
            "nodes": 1234,
            "relationships": 5678,
            "host_bytes": 2048,
            "load_seconds": 0.5,
        }

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        self.closed = True


@pytest.fixture
def accelerator(monkeypatch):
    """The fake that `connect` returns in all commands: no device is opened, no OpenCL imported."""
    fake = FakeAccelerator(["n", "name"], [[1, "Ann"], [2, None]])
    api = ModuleType("gpugda.api")
    api.connect = fake.connect
    api.read_import = ImportSource
    monkeypatch.setitem(sys.modules, "gpugda.api", api)
    return fake


@pytest.fixture
def gpugda_command():
    """Runs the command in this process."""

    def run(*arguments, **options):
        return CliRunner().invoke(app, list(arguments), **options)

    yield run
    logger = logging.getLogger("gpugda")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
