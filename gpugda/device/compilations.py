"""Compiles programs in threads beside the query that needs them, so that the query can time out."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from gpugda.deadline import seconds_left
from gpugda.errors import StillCompilingError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Compilations"]


class Compilations:
    """Compilations in progress, one thread each. Callers hold the device's lock."""

    def __init__(self) -> None:
        self._files: dict[str, Future[Any]] = {}

    def result(self, file: str, make: Callable[[], Any], deadline: float | None) -> Any:
        """Waits for the result of ``make``, or of an earlier call for the same file that timed out.

        Raises:
            QueryTimeoutError: The deadline passed. The compilation goes on for the next caller.
        """
        if file not in self._files:
            self._files[file] = _begun(make, f"gpugda compiles {file}")
        future = self._files[file]
        try:
            found = future.result(seconds_left(deadline))
        except TimeoutError:
            raise StillCompilingError(
                f"{file} was still compiled for the device when the time limit came, which is "
                "needed once: ask again, or give it more time"
            ) from None
        except BaseException:
            if future.done():
                del self._files[file]  # the next caller tries again
            raise
        del self._files[file]
        return found

    def close(self) -> None:
        """Waits for all compilations."""
        for future in self._files.values():
            future.exception()
        self._files.clear()


def _begun(make: Callable[[], Any], name: str) -> Future[Any]:
    future: Future[Any] = Future()

    def work() -> None:
        try:
            future.set_result(make())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name=name).start()
    return future
