"""Programs are compiled beside the query that needs them: it may be given up meanwhile."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gpugda.deadline import seconds_left
from gpugda.errors import QueryTimeoutError

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

__all__ = ["Compiling"]


class Compiling:
    """What is compiled now, by a thread of its own. Its users hold the lock of the device."""

    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._files: dict[str, Future[Any]] = {}

    def result(self, file: str, make: Callable[[], Any], deadline: float | None) -> Any:
        """What ``make`` gives, or gave to somebody who did not wait for it.

        Raises:
            QueryTimeoutError: The deadline passed. It is made all the same, for who asks next.
        """
        if file not in self._files:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(1, "gpugda compiles")
            self._files[file] = self._executor.submit(make)
        try:
            found = self._files[file].result(seconds_left(deadline))
        except TimeoutError:
            raise QueryTimeoutError(
                f"{file} was still compiled for the device when the time limit came, which is "
                "needed once: ask again, or give it more time"
            ) from None
        except BaseException:
            if self._files[file].done():
                del self._files[file]  # who asks next tries again
            raise
        del self._files[file]
        return found

    def close(self) -> None:
        """Waits for what is compiled."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
        self._executor = None
        self._files.clear()
