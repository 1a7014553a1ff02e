from __future__ import annotations

import pytest
from fake_driver import FakeDevice, FakeDriver

from gpugda.accelerate.accelerators import Accelerators
from gpugda.accelerate.driver import AcceleratedDriver
from gpugda.accelerate.gate import Gate


class Setup:
    """A fake driver, its accelerated form, and one fake device per database."""

    def __init__(self, strict=True):
        self.driver = FakeDriver()
        self.devices = {}
        accelerators = Accelerators(self.driver, self._open, lambda driver: "neo4j")
        self.gate = Gate(accelerators, strict=strict)
        self.accelerated = AcceleratedDriver(self.driver, self.gate)
        assert self.gate.wait(None, 30)

    def _open(self, name):
        return self.devices.setdefault(name, FakeDevice())

    @property
    def device(self):
        return self.devices["neo4j"]

    @property
    def asked_server(self):
        """The queries that reached the server."""
        return [
            call[1] for call in self.driver.calls if call[0] in ("run", "tx.run", "execute_query")
        ]

    @property
    def reasons(self):
        return list(self.gate.tally.passed_through)


@pytest.fixture
def setup():
    made = Setup()
    yield made
    made.accelerated.close()


@pytest.fixture
def lenient():
    """A setup whose freshness is not strict."""
    made = Setup(strict=False)
    yield made
    made.accelerated.close()
