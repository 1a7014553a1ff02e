"""The accelerators of a driver, one per database, made when a database is first used."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from gpugda.accelerate.later import Later
from gpugda.accelerate.opening import home_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gpugda.answer.declined import Declined
    from gpugda.result.result import Result

__all__ = ["Accelerators", "Device"]

_POLL_SECONDS = 0.02
_SYSTEM = "system"


class Device(Protocol):
    """The interface of an accelerator that this package uses."""

    def try_device(
        self, query: str, parameters: Mapping[str, Any] | None, *, timeout: float | None = None
    ) -> Result | Declined:
        """Returns the device's answer, or why to ask the database."""

    def covers(self, bookmarks: Iterable[str]) -> bool:
        """True if the snapshot is of the state of all bookmarks, or of a later one."""

    def observe_native(self, text: str, seconds: float | None = None) -> None:
        """Records that the database answered a declined query; ``seconds`` is None if unknown."""

    def status(self) -> dict[str, Any]:
        """Facts about the accelerator."""

    def close(self) -> None:
        """Closes the accelerator."""


class Accelerators:
    """Accelerators by name of the database.

    Args:
        driver: The driver that finds the home database.
        open_database: Makes the accelerator of a database; called in a thread.
        find_home: Finds the name of the home database; called in a thread.
    """

    def __init__(
        self,
        driver: Any,
        open_database: Callable[[str], Any],
        find_home: Callable[[Any], str] = home_database,
    ) -> None:
        self._open = open_database
        self._lock = threading.Lock()
        self._accelerators: dict[str, Later[Device]] = {}
        self._closed = False
        self._home: Later[str] = Later(
            lambda: self._begin(find_home(driver)),
            lambda name: None,
            "gpugda-home",
            "it is being found out which database is the home database",
        )

    def get(self, database: str | None) -> Device | str:
        """Returns the accelerator, or a sentence why there is none; never waits.

        Args:
            database: Its name, None for the user's home database, which is looked up only once.
        """
        name = database or self._home.get()
        if name is None:
            return self._home.reason
        if name.lower() == _SYSTEM:
            return "the system database holds no graph"
        accelerator = self._accelerator_of(name)
        return accelerator.get() or accelerator.reason

    def wait(self, database: str | None, seconds: float) -> bool:
        """Waits for a snapshot of the database; True if there is one."""
        end = time.monotonic() + seconds
        name = database or self._home.wait(seconds)
        device = name and self._accelerator_of(name).wait(max(0.0, end - time.monotonic()))
        if not device:
            return False
        while (status := device.status()).get("nodes") is None:
            if time.monotonic() > end or not status.get("refreshing"):
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def statuses(self) -> dict[str, dict[str, Any]]:
        """Status of each accelerator, by name of the database."""
        found = {name: accelerator.get() for name, accelerator in self._accelerators.copy().items()}
        return {name: device.status() for name, device in found.items() if device is not None}

    def close(self) -> None:
        """Closes all accelerators."""
        with self._lock:
            self._closed = True
        self._home.close()
        for accelerator in self._accelerators.values():
            accelerator.close()

    def _begin(self, name: str) -> str:
        self._accelerator_of(name).get()  # a query on the home database needs its accelerator
        return name

    def _accelerator_of(self, name: str) -> Later[Device]:
        key = name.lower()  # as the server compares names
        with self._lock:
            accelerator = self._accelerators.get(key)
            if accelerator is None:
                accelerator = self._accelerators[key] = Later(
                    lambda: self._open(key),
                    lambda device: device.close(),
                    f"gpugda-open-{key}",
                    "the accelerator is being made",
                )
                if self._closed:
                    accelerator.close()
            return accelerator
