"""Starts a device's driver in a separate thread while the host reads a graph.

Starting a GPU's driver and creating a context takes 0.2 s, during which pyopencl holds Python's
lock. So this module calls the OpenCL library through ctypes, which releases that lock.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpugda.device.devices import choose_device, refuse_forked_process
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from gpugda.device.devices import DeviceInfo

__all__ = ["DriverStart"]

_GPUS: Final = ("/dev/nvidiactl", "/dev/kfd", "/dev/dri")
"""Files that exist on a machine with a GPU. Without one nothing is started, as it gains nothing."""
_LOGGER = logging.getLogger("gpugda.device")
_GPU: Final = 4
"""CL_DEVICE_TYPE_GPU of OpenCL's header."""


class DriverStart:
    """Starts the driver of the device that will be opened; the thread begins in the constructor.

    If this fails or gains nothing, there is no context, and the code that opens the device creates
    it.

    Args:
        wanted: The argument of `choose_device`.
    """

    def __init__(self, wanted: str | int | None) -> None:
        self._wanted = wanted
        self._info: DeviceInfo | None = None
        self._context: Any = None
        # The interpreter waits for this thread at exit: a driver must not be unloaded while it
        # starts.
        self._thread = threading.Thread(target=self._run, name="gpugda-start")
        self._thread.start()

    def take(self, info: DeviceInfo) -> Any:
        """Hands over the context created for a device; None if there is none."""
        self._thread.join()
        found, made_for = self._context, self._info
        self._context = self._info = None
        return found if made_for == info else None

    def _run(self) -> None:
        with suppress(OSError, AttributeError, ImportError, DeviceError):
            library = _opencl() if any(Path(each).exists() for each in _GPUS) else None
            if library is None:
                return
            refuse_forked_process()
            _start_drivers(library)
            info = choose_device(self._wanted)
            if info.type == "gpu":
                self._context, self._info = _made_context(library, info), info


def _opencl() -> Any:
    """Loads the OpenCL library that pyopencl uses; None if it is not found."""
    if sys.platform != "linux":
        return None
    import pyopencl  # noqa: F401  # loads it

    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    paths = (line.split(maxsplit=5)[-1] for line in lines if "libOpenCL" in line)
    path = next(paths, None)
    return None if path is None else ctypes.CDLL(path)


def _start_drivers(library: Any) -> None:
    """Asks each driver for its GPUs, which starts the driver."""
    count = ctypes.c_uint(0)
    library.clGetPlatformIDs(0, None, ctypes.byref(count))
    platforms = (ctypes.c_void_p * count.value)()
    library.clGetPlatformIDs(count, platforms, None)
    for each in platforms:
        library.clGetDeviceIDs(
            ctypes.c_void_p(each), ctypes.c_ulonglong(_GPU), 0, None, ctypes.byref(count)
        )


def _made_context(library: Any, info: DeviceInfo) -> Any:
    import pyopencl as cl

    make, failed = library.clCreateContext, ctypes.c_int(0)
    make.restype = ctypes.c_void_p
    device = ctypes.c_void_p(info.handle.int_ptr)
    made = make(None, 1, ctypes.byref(device), None, None, ctypes.byref(failed))
    if failed.value or not made:
        _LOGGER.debug("no context was made ahead of time (%d)", failed.value)
        return None
    return cl.Context.from_int_ptr(made, False)
