"""The accelerators of a driver, one per database, made when a database is first used."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from gpugda.accelerator import Accelerator
from gpugda.ports import DatabaseServer
from gpugda.sources import resolve_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import neo4j

    from gpugda.answer.declined import Declined
    from gpugda.result.result import Result


__all__ = ["Accelerators", "Device", "Later", "NeverError", "home_database", "open_accelerator"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_RETRY_SECONDS = 30.0
_CLOSE_SECONDS = 5.0


class NeverError(Exception):
    """Raised if the value can never be made; the text says why."""


class Later(Generic[T]):
    """Makes a value once, in a thread; retries some time after a failure.

    Args:
        make: Makes the value.
        discard: Takes a value that is no longer needed.
        name: Name of the thread.
        waiting: The reason to give while the value is being made.
    """

    def __init__(
        self, make: Callable[[], T], discard: Callable[[T], object], name: str, waiting: str
    ) -> None:
        self._make = make
        self._discard = discard
        self._name = name
        self.reason = self._waiting = waiting
        self._lock = threading.Lock()
        self._value: T | None = None
        self._thread: threading.Thread | None = None
        self._retry_at = 0.0
        self._closed = False

    def get(self) -> T | None:
        """Returns the value, or None and a ``reason``; starts to make it if that is due."""
        value = self._value
        if value is not None:
            return value
        with self._lock:
            if not self._closed and self._thread is None and time.monotonic() >= self._retry_at:
                self.reason = self._waiting
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return self._value

    def wait(self, seconds: float | None = None) -> T | None:
        """Waits for the value and returns it; None if it could not be made in that time."""
        self.get()
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return self._value

    def close(self) -> None:
        """Discards the value, or, if it is still being made, discards it when it is ready."""
        with self._lock:
            self._closed = True
            value, self._value = self._value, None
            thread = self._thread
            self.reason = "the driver is closed"
        if value is not None:
            self._discard(value)
        elif thread is not None:
            # The thread ends by itself: do not wait for a connection that cannot be made.
            thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        try:
            value = self._make()
        except NeverError as error:
            self._failed(str(error), float("inf"))
        except Exception as error:
            logger.warning("nothing is accelerated for now: %s", error)
            lines = str(error).splitlines() or [type(error).__name__]
            self._failed(lines[0], time.monotonic() + _RETRY_SECONDS)
        else:
            self._made(value)

    def _failed(self, reason: str, retry_at: float) -> None:
        with self._lock:
            self.reason, self._retry_at, self._thread = reason, retry_at, None

    def _made(self, value: T) -> None:
        with self._lock:
            self._thread = None
            wanted = not self._closed
            if wanted:
                self._value = value
        if not wanted:
            self._discard(value)


_OF_THE_SOURCE = ("auth", "labels", "types")


def open_accelerator(
    driver: neo4j.Driver | str, database: str, options: Mapping[str, Any]
) -> Accelerator:
    """Makes the accelerator of a database; its snapshot is read in the background.

    Args:
        driver: The driver, or the server's address.
        database: The database.
        options: Options of `gpugda.connect`.

    Raises:
        NeverError: This server's answers cannot be proven to be the newest.
        GpugdaError: As `gpugda.connect`.
    """
    given = {name: options[name] for name in _OF_THE_SOURCE if options.get(name) is not None}
    rest = {name: each for name, each in options.items() if name not in _OF_THE_SOURCE}
    source = resolve_source(driver, database=database, **given)
    assert isinstance(source, DatabaseServer)
    try:
        if source.facts.clustered:
            raise NeverError(
                "the database has several members, one of which may be behind the others"
            )
        return Accelerator(source, load="background", **rest)
    except BaseException:
        source.close()
        raise


def home_database(driver: neo4j.Driver) -> str:
    """Name of the database that the driver's sessions use by default.

    Raises:
        NeverError: The server does not report it.
        neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: The server cannot be queried.
    """
    with driver.session(default_access_mode="READ") as session:
        name = session.run("RETURN 1").consume().database
    if not name:
        raise NeverError("the server does not tell which database it answered from")
    return name


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
