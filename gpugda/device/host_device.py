"""The host's processor as a device, for loops over the host's rows that NumPy has no function for.

PoCL comes with the package on Linux, so this device exists even where patterns run on a GPU.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from gpugda.device.context import DeviceContext
from gpugda.device.devices import DeviceInfo, list_devices
from gpugda.errors import DeviceError
from gpugda.process import process_id

__all__ = ["host_device"]

_LOGGER = logging.getLogger("gpugda.device")
_DOUBLES: Final = "cl_khr_fp64"
_lock = threading.Lock()
_opened: dict[int, DeviceContext | None] = {}
"""Opened devices by process, as OpenCL does not survive a fork."""


def host_device() -> DeviceContext | None:
    """A CPU with 64-bit floats, opened once per process; None if there is none."""
    process = process_id()
    with _lock:
        if process not in _opened:
            _opened[process] = _open()
        return _opened[process]


def _open() -> DeviceContext | None:
    try:
        info = next(filter(_is_suitable, list_devices()), None)
        return None if info is None else DeviceContext(info)
    except DeviceError as error:
        _LOGGER.info("no CPU is used as a device for the rows of a query: %s", error)
        return None


def _is_suitable(info: DeviceInfo) -> bool:
    return info.type == "cpu" and _DOUBLES in info.handle.extensions
