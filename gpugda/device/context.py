"""An opened device: context, queue, limits and habits."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gpugda.device.compiling import Compiling
from gpugda.device.devices import DeviceInfo, choose_device, list_devices
from gpugda.device.failures import device_failure
from gpugda.device.profile import CPU, GPU
from gpugda.device.spare_contexts import LoadedContext, keep_context, kept_context
from gpugda.errors import DeviceError
from gpugda.process import process_id

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DeviceContext", "DeviceInfo", "choose_device", "list_devices"]


class DeviceContext:
    """A device with one queue, in order. Its users take ``lock`` while they launch.

    Args:
        info: Which device.
        like_cpu: How kernels split their work: few items with long shares, or many. None asks the
            device.

    Attributes:
        profile: What depends on the kind of device.
        plain_builds: Files that did not build with the options for the device, and why.
        everything_compiled: Whether it is known that all kernels are.
        deadline: Until when who holds the lock waits for kernels to be compiled; None for ever.

    Raises:
        DeviceError: The device cannot be opened.
    """

    def __init__(self, info: DeviceInfo, *, like_cpu: bool | None = None) -> None:
        import pyopencl as cl

        self.info = info
        self.lock = threading.RLock()
        self.kernels: dict[tuple[str, str], Any] = {}
        self.programs: dict[str, Any] = {}
        self.compiling = Compiling()
        self.deadline: float | None = None
        self.everything_compiled = False
        self.staging: Any = None
        self.plain_builds: dict[str, str] = {}
        self._errors: type[Exception] = cl.Error
        self.profile = CPU if (info.type == "cpu" if like_cpu is None else like_cpu) else GPU
        self._process = process_id()
        self._closed = False
        try:
            kept = kept_context(info) if self.is_pocl else None
            self.loaded: LoadedContext = kept or LoadedContext(cl.Context([info.handle]))
            self.context: Any = self.loaded.context
            self.queue: Any = cl.CommandQueue(self.context)
        except cl.Error as error:
            raise device_failure(error, "opening the device", info.name) from error

    @property
    def is_cpu(self) -> bool:
        """Are its kernels those of a CPU: few work items with long shares? Asked to choose one.

        All else that hangs on the kind of device is a number of its ``profile``.
        """
        return self.profile.intersection == "marks"

    @property
    def is_pocl(self) -> bool:
        """Does it compile each kernel at its first launch?"""
        return "portable computing language" in self.info.platform.lower()

    @property
    def group_size(self) -> int:
        """Work items per group, the same for all kernels."""
        return self.profile.group_size

    @property
    def most_items(self) -> int:
        """More work items than these do not make a launch faster."""
        return self.info.compute_units * self.profile.items_per_unit

    def call(self, doing: str, function: Callable[..., Any], *args: Any, **settings: Any) -> Any:
        """Calls pyopencl.

        Raises:
            DeviceError: The call failed, or the device cannot be used from here.
            MemoryLimitError: There is no memory for it.
        """
        self.check()
        try:
            return function(*args, **settings)
        except (self._errors, MemoryError) as error:
            raise device_failure(error, doing, self.info.name) from error

    def check(self) -> None:
        """Refuses a closed device, and one that was opened before a fork."""
        if self._closed:
            raise DeviceError(f"{self.info.name} was closed; open it again")
        if process_id() != self._process:
            raise DeviceError(
                f"{self.info.name} was opened in process {self._process}, and OpenCL does not "
                "survive a fork: start processes by spawn"
            )

    def finish(self) -> None:
        """Waits until everything in the queue is done."""
        self.check()
        self.call("waiting for kernels", self.queue.finish)

    def close(self) -> None:
        """Lets go of the device; a second call does nothing."""
        self._closed = True  # a query that runs notices before its next launch, and lets go
        with self.lock:
            if self.queue is None:
                return
            if process_id() == self._process:
                self.queue.finish()
            self.compiling.close()
            self.kernels.clear()
            self.programs.clear()
            if self.is_pocl and process_id() == self._process:
                keep_context(self.info, self.loaded)
            self.loaded = LoadedContext(None)
            self.queue = self.context = self.staging = None
