"""An opened device: context, queue, limits and profile."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from concurrent.futures import Future
from copy import copy
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from gpugda.deadline import seconds_left
from gpugda.device.devices import DeviceInfo, choose_device, list_devices
from gpugda.device.failures import device_failure
from gpugda.device.profile import CPU, GPU
from gpugda.errors import DeviceError, StillCompilingError
from gpugda.process import process_id
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable


__all__ = [
    "Compilations",
    "DeviceContext",
    "DeviceInfo",
    "LoadedContext",
    "choose_device",
    "keep_context",
    "kept_context",
    "list_devices",
]


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


_MAX_CONTEXTS = 4

_kept: defaultdict[tuple[int, int], list[LoadedContext]] = defaultdict(list)
"""Contexts by process (as OpenCL does not survive a fork) and device."""


@value(frozen=True, slots=True, eq=False)
class LoadedContext:
    """An OpenCL context that one device context uses at a time.

    Args:
        context: pyopencl's context.
        programs: Built programs by text and options.
    """

    context: Any
    programs: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)


def keep_context(info: DeviceInfo, loaded: LoadedContext) -> None:
    """Keeps a context for the next user of the device; nothing may run on it any more."""
    kept = _kept[process_id(), info.handle.int_ptr]
    if len(kept) < _MAX_CONTEXTS:
        kept.append(loaded)


def kept_context(info: DeviceInfo) -> LoadedContext | None:
    """An unused context, which the caller then owns; None if there is none."""
    kept = _kept[process_id(), info.handle.int_ptr]
    try:
        return kept.pop()
    except IndexError:
        return None


L = TypeVar("L")


class DeviceContext:
    """A device with one in-order queue. Its users hold ``lock`` while they launch.

    Args:
        info: The device to open.
        like_cpu: True to split work as for a CPU (few items with long shares), False as for a GPU
            (many items). None decides by the device.
        made: An unused pyopencl context for the device, see `DriverStart`.

    Attributes:
        profile: Settings that depend on the kind of device.
        plain_builds: Files that did not build with the device's options, each with the reason.
        everything_compiled: True if all kernels are known to be compiled.
        page_locked: First and last (exclusive) addresses of arrays in page-locked memory.
        compiling_seconds: Seconds that users have waited for kernels to be compiled or loaded.
        deadline: Time until which the holder of the lock waits for compilation; None for no limit.

    Raises:
        DeviceError: The device cannot be opened.
    """

    def __init__(self, info: DeviceInfo, *, like_cpu: bool | None = None, made: Any = None) -> None:
        import pyopencl as cl

        self.info = info
        self.lock = threading.RLock()
        self.kernels: dict[tuple[str, str], Any] = {}
        self.programs: dict[str, Any] = {}
        self._launchers: dict[object, Any] = {}
        self.compiling = Compilations()
        self.deadline: float | None = None
        self.everything_compiled = False
        self.compiling_seconds = 0.0
        self.staging: Any = None
        self.upload_ring: Any = None
        self.page_locked: set[tuple[int, int]] = set()
        self.plain_builds: dict[str, str] = {}
        self._errors: type[Exception] = cl.Error
        self.profile = CPU if (info.type == "cpu" if like_cpu is None else like_cpu) else GPU
        self._process = process_id()
        self._closed = False
        self._origin: DeviceContext | None = None
        self._by_id_widths: dict[tuple[bool, bool], DeviceContext] = {}
        """Variants with kernels for wider type and label ids, see `with_id_widths`."""
        try:
            kept = kept_context(info) if self.is_pocl and made is None else None
            self.loaded: LoadedContext = kept or LoadedContext(made or cl.Context([info.handle]))
            self.context: Any = self.loaded.context
            self.queue: Any = cl.CommandQueue(self.context)
        except cl.Error as error:
            raise device_failure(error, "opening the device", info.name) from error

    @property
    def is_cpu(self) -> bool:
        """True if kernels are of the CPU's kind: few work items with long shares; selects kernels.

        All other settings that depend on the kind of device are numbers of the ``profile``.
        """
        return self.profile.intersection == "marks"

    @property
    def is_pocl(self) -> bool:
        """True for PoCL, which compiles each kernel at its first launch."""
        return "portable computing language" in self.info.platform.lower()

    @property
    def group_size(self) -> int:
        """Work items per work group, the same for all kernels."""
        return self.profile.group_size

    @property
    def max_items(self) -> int:
        """Number of work items beyond which a launch does not become faster."""
        return self.info.compute_units * self.profile.items_per_unit

    def with_id_widths(self, *, wide_types: bool, wide_labels: bool) -> DeviceContext:
        """Returns the same device with kernels that read 32-bit ids of types or labels.

        Returns the original where ids have 16 bits, as in almost all graphs.
        """
        origin, wide = self._origin or self, (wide_types, wide_labels)
        if not any(wide):
            return origin
        if wide not in origin._by_id_widths:
            self.check()
            other, profile = copy(origin), origin.profile
            names = zip(("-DWIDE_TYPES", "-DWIDE_LABELS"), wide, strict=True)
            defines = [name for name, is_wide in names if is_wide]
            other.profile = replace(profile, defines=(*profile.defines, *defines))
            other.kernels, other.programs, other.plain_builds = {}, {}, {}
            other._launchers = {}
            other.everything_compiled, other._origin, other._by_id_widths = False, origin, {}
            origin._by_id_widths.setdefault(wide, other)
        return origin._by_id_widths[wide]

    def launcher(self, kind: Callable[[DeviceContext], L]) -> L:
        """The launcher of this class, made once: every state of a graph uses the same one."""
        found: L | None = self._launchers.get(kind)
        if found is None:
            found = kind(self)
            # A closed device keeps nothing.
            return found if self._closed else self._launchers.setdefault(kind, found)
        return found

    def clock(self) -> float:
        """Seconds on a clock that stops while kernels are compiled.

        The difference of two readings thus predicts the time of the next query of the same kind.
        """
        return time.perf_counter() - self.compiling_seconds

    def call(self, doing: str, function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        """Calls a function of pyopencl and translates its errors.

        Raises:
            DeviceError: The call failed, or the device cannot be used from this process.
            MemoryLimitError: Memory is exhausted.
        """
        self.check()
        try:
            return function(*args, **settings)
        except (self._errors, MemoryError) as error:
            raise device_failure(error, doing, self.info.name) from error

    def check(self) -> None:
        """Raises DeviceError for a closed device and for one opened before a fork."""
        if self._closed:
            raise DeviceError(f"{self.info.name} was closed; open it again")
        if process_id() != self._process:
            raise DeviceError(
                f"{self.info.name} was opened in process {self._process}, and OpenCL does not "
                "survive a fork: start processes by spawn"
            )

    def finish(self) -> None:
        """Waits until all commands in the queue are done."""
        self.check()
        self.call("waiting for kernels", self.queue.finish)

    def close(self) -> None:
        """Closes the device; a second call does nothing."""
        self._closed = True  # a running query stops before its next launch
        with self.lock:
            if self.queue is None:
                return
            if process_id() == self._process:
                self.queue.finish()
            self.compiling.close()
            all_ids = [self, *self._by_id_widths.values()]
            self._by_id_widths.clear()
            for each in all_ids:
                each.kernels.clear()
                each.programs.clear()
                each._launchers.clear()
            if self.is_pocl and process_id() == self._process:
                keep_context(self.info, self.loaded)
            self.loaded = LoadedContext(None)
            for each in all_ids:
                each._closed = True
                each.queue = each.context = each.staging = each.upload_ring = None
