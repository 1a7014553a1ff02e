"""Compiles all kernels of a device in a separate thread while other engines answer."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from gpugda.device.program import build_everything
from gpugda.errors import GpugdaError, QueryTimeoutError
from gpugda.types import first_line

if TYPE_CHECKING:
    from gpugda.device.compile_processes import CompileProcesses
    from gpugda.device.context import DeviceContext

__all__ = ["BackgroundCompilation"]

_LOGGER = logging.getLogger("gpugda.device")


class BackgroundCompilation:
    """Compiles for one device; the thread starts in the constructor.

    Args:
        context: The device, which stays open until `stop`.
        apart: Processes that compile for it; this object loads what they left on disk.

    Attributes:
        error: The failure, None if there is none.
    """

    def __init__(self, context: DeviceContext, apart: CompileProcesses | None = None) -> None:
        self._context = context
        self._apart = apart
        self._started = time.monotonic()
        self._stop = threading.Event()
        self._done, self._total = 0, 0
        self.error: GpugdaError | None = None
        _LOGGER.info(
            "compiling the kernels for %s in the background, once for this machine; until then "
            "a database answers itself",
            context.info.name,
        )
        self._thread = threading.Thread(target=self._run, name="gpugda-compile")
        self._thread.start()

    @property
    def is_under_way(self) -> bool:
        """True until the compilation has ended."""
        return self._thread.is_alive()

    def __str__(self) -> str:
        """Why the device does not answer yet."""
        if self.error is not None:
            return f"the device's kernels do not build: {first_line(self.error)}"
        seconds = time.monotonic() - self._started
        return (
            "the device's kernels are being compiled in the background, once for this machine "
            f"({self._done} of {self._total or '?'} files after {seconds:.0f} s)"
        )

    def wait(self, seconds: float | None = None) -> None:
        """Waits until everything is compiled.

        Raises:
            DeviceError: A kernel does not build, or the device failed.
            QueryTimeoutError: It took longer than ``seconds``.
        """
        self._thread.join(seconds)
        if self.is_under_way:
            raise QueryTimeoutError(f"{self}; ask again, or give it more time")
        if self.error is not None:
            raise self.error

    def stop(self) -> None:
        """Stops after the file that is compiled now, and waits for that."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        if self._apart is not None:
            self._apart.wait()
        try:
            build_everything(self._context, self._should_continue)
        except GpugdaError as error:
            self.error = error
            _LOGGER.warning("%s", self)
        if self._context.everything_compiled:
            seconds = time.monotonic() - self._started
            name = self._context.info.name
            _LOGGER.info("compiled the kernels for %s in %.0f s", name, seconds)

    def _should_continue(self, done: int, total: int) -> bool:
        self._done, self._total = done, total
        # The next process compiles the remaining files: this process ends.
        return not self._stop.is_set() and threading.main_thread().is_alive()
