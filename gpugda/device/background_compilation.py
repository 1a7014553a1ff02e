"""Compiles all kernels of a device in a separate thread while other engines answer."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from gpugda.data.threads import core_count
from gpugda.device.program import build_everything, is_everything_built
from gpugda.device.program_cache import program_folder
from gpugda.errors import GpugdaError, QueryTimeoutError
from gpugda.types import first_line

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext


__all__ = ["BackgroundCompilation", "CompileProcesses", "start_compile_processes"]

_LOGGER = logging.getLogger("gpugda.device")
_MAX_PROCESSES: Final = 8
_MIN_CORES: Final = 4
_LOOK_SECONDS: Final = 0.05
_LATER_SECONDS: Final = 1.0
_BUILD: Final = """
import sys
from contextlib import closing
from gpugda.device.context import DeviceContext
from gpugda.device.devices import list_devices
from gpugda.device.program import build_share
number, share, shares = map(int, sys.argv[1:])
with closing(DeviceContext(list_devices()[number])) as context:
    build_share(context, share, shares)
"""


class CompileProcesses:
    """Compiles all kernels for a device if there are cores and a folder for it; starts at once.

    Args:
        context: The device. Nothing is launched on it here.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gpugda-compile-apart")
        self._thread.start()

    def wait(self) -> None:
        """Waits until the compilation has ended."""
        self._thread.join()

    def stop(self) -> None:
        """Stops the compilation now; the next process that opens the device starts it again."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        if core_count() < _MIN_CORES or program_folder() is None or not sys.executable:
            return
        if _are_some_kept() and not self._has_waited(_LATER_SECONDS):
            return
        if is_everything_built(self._context):
            return
        started = time.monotonic()
        shares = min(_MAX_PROCESSES, core_count() - 1)
        processes: list[subprocess.Popen[bytes]] = []
        try:
            processes.extend(
                _begun(self._context.info.index, share, shares) for share in range(shares)
            )
            while any(each.poll() is None for each in processes) and self._should_continue():
                self._stop.wait(_LOOK_SECONDS)
        except OSError as error:
            _LOGGER.info("kernels are compiled when they are needed: %s", error)
        finally:
            _end(processes)
        failed = sum(each.returncode != 0 for each in processes)
        name, seconds = self._context.info.name, time.monotonic() - started
        said = "%d processes compiled the kernels for %s in %.1f s, %d of them not to the end"
        _LOGGER.info(said, len(processes), name, seconds, failed)

    def _has_waited(self, seconds: float) -> bool:
        """False as soon as it is stopped or the main thread ends, which waits for this thread."""
        ends = time.monotonic() + seconds
        while self._should_continue() and time.monotonic() < ends:
            self._stop.wait(min(_LOOK_SECONDS, seconds))
        return self._should_continue()

    def _should_continue(self) -> bool:
        return not self._stop.is_set() and threading.main_thread().is_alive()


def start_compile_processes(context: DeviceContext) -> CompileProcesses | None:
    """Starts compiling for a device whose driver leaves this to other processes; otherwise None."""
    if not context.profile.compiles_in_processes or context.is_pocl:
        return None
    return CompileProcesses(context)


def _are_some_kept() -> bool:
    """True if the folder has programs. Then almost always all are there; checking each is slow."""
    folder = program_folder()
    try:
        return folder is not None and next(folder.iterdir(), None) is not None
    except OSError:
        return False


def _begun(number: int, share: int, shares: int) -> subprocess.Popen[bytes]:
    # The children must import this package from where this process imported it.
    path = os.pathsep.join(each for each in sys.path if each)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _BUILD, *map(str, (number, share, shares))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": path},
    )


def _end(processes: list[Any]) -> None:
    for each in processes:
        if each.poll() is None:
            each.terminate()
    for each in processes:
        each.wait()


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
