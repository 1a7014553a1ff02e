"""Lists the OpenCL devices and chooses one."""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from typing import Any

from gpugda.device.caches import POCL_VARIABLE, pocl_folder
from gpugda.device.pocl_cpu import name_unknown_cpu
from gpugda.errors import DeviceError
from gpugda.folders import can_write, spares
from gpugda.process import process_id
from gpugda.types import value

__all__ = ["DeviceInfo", "choose_device", "list_devices", "refuse_forked_process"]

_TYPES = {1: "default", 2: "cpu", 4: "gpu", 8: "accelerator", 16: "custom"}

_HALF = re.compile(r"\s*(\d+):([01])\s*")
"""A half of a device: its index, and which half."""

_ADVICE = (
    "A CPU can always be used: pip install pocl-binary-distribution. "
    "Where an NVIDIA driver is installed but not registered with OpenCL: mkdir -p "
    "/etc/OpenCL/vendors; echo libnvidia-opencl.so.1 > /etc/OpenCL/vendors/nvidia.icd (or put that "
    "file elsewhere and name its folder in OCL_ICD_VENDORS)."
)


@value(frozen=True, slots=True)
class DeviceInfo:
    """One OpenCL device.

    Args:
        index: Its position among all devices of all platforms.
        platform: Name of its platform.
        name: Its name.
        vendor: Name of its vendor.
        type: ``cpu``, ``gpu``, ``accelerator`` or ``custom``.
        compute_units: The number of compute units.
        global_memory_bytes: Size of its memory.
        max_allocation_bytes: Maximum size of a buffer.
        version: OpenCL version, as the device reports it.
        platform_version: OpenCL version, as the platform reports it.
        driver_version: Version of its driver.
        handle: pyopencl's device.
    """

    index: int
    platform: str
    name: str
    vendor: str
    type: str
    compute_units: int
    global_memory_bytes: int
    max_allocation_bytes: int
    version: str
    platform_version: str = ""
    driver_version: str = ""
    handle: Any = field(repr=False, compare=False, default=None)


def list_devices(platform: str = "") -> list[DeviceInfo]:
    """All OpenCL devices; empty if there is no platform or no OpenCL.

    Args:
        platform: A part of a platform's name; the drivers of other platforms are not started.

    Raises:
        DeviceError: This process was forked from one that used OpenCL.
    """
    try:
        import pyopencl as cl
    except ImportError:
        return []
    # Its variable does this at import. pyopencl's caches hold pickles, which run code when they are
    # read, and fail on a full disk; `program_cache` and `pocl_entries` keep programs instead.
    cl._PYOPENCL_NO_CACHE = True
    refuse_forked_process()
    try:
        platforms = cl.get_platforms()
    except cl.Error:
        return []
    handles: list[Any] = []
    for each in platforms:
        try:
            if platform.lower() in each.name.lower():
                handles.extend(each.get_devices())
        except cl.Error:  # a platform without devices raises an error
            continue
    for handle in handles:
        name_unknown_cpu(handle, handle.platform.name)
    return [_info(index, handle) for index, handle in enumerate(handles)]


def _info(index: int, handle: Any) -> DeviceInfo:
    return DeviceInfo(
        index=index,
        platform=handle.platform.name.strip(),
        name=handle.name.strip(),
        vendor=handle.vendor.strip(),
        # Several bits may be set: the highest one is the most specific.
        type=_TYPES.get(1 << (int(handle.type).bit_length() - 1), "custom"),
        compute_units=handle.max_compute_units,
        global_memory_bytes=handle.global_mem_size,
        max_allocation_bytes=handle.max_mem_alloc_size,
        version=handle.version.strip(),
        platform_version=handle.platform.version.strip(),
        driver_version=handle.driver_version.strip(),
        handle=handle,
    )


_first_process: int | None = None


def refuse_forked_process() -> None:
    """Notes the first process that uses OpenCL: its threads do not survive a fork.

    A forked child that calls OpenCL would wait forever.

    Raises:
        DeviceError: This process was forked from one that used OpenCL.
    """
    global _first_process  # OpenCL is initialised once per process
    if _first_process is None:
        _first_process = process_id()
    if _first_process != process_id():
        raise DeviceError(
            f"OpenCL was used in process {_first_process} before this one was forked from it, "
            "which it does not survive: start processes by spawn "
            "(multiprocessing.get_context('spawn'))"
        )


def choose_device(wanted: str | int | None = None) -> DeviceInfo:
    """Chooses the best device that fits.

    Args:
        wanted: ``"gpu"``, ``"cpu"``, an index as in `list_devices` (also as text), or a part of a
            platform's or device's name. ``"0:1"`` is one half of the compute units of device 0,
            where its driver can divide it. None takes the GPU with most memory, otherwise any
            device.

    Raises:
        DeviceError: There is no device, or none fits.
    """
    devices = list_devices()
    if not devices:
        raise DeviceError(f"no OpenCL device was found. {_reason_for_no_device()}{_ADVICE}")
    half = _HALF.fullmatch(str(wanted))
    if half:
        wanted = int(half[1])
    fitting = [device for device in devices if _fits(device, wanted)]
    if half and fitting:
        return _info(fitting[0].index, _halves(fitting[0].handle)[int(half[2])])
    if not fitting:
        there = "; ".join(f"{each.index}: {each.name} ({each.platform})" for each in devices)
        raise DeviceError(f"no OpenCL device fits {wanted!r}. There is {there}. {_ADVICE}")
    return max(
        fitting,
        key=lambda device: (device.type == "gpu", device.global_memory_bytes, -device.index),
    )


@lru_cache(maxsize=64)
def _halves(handle: Any) -> list[Any]:
    """Two devices that share the compute units of one; the same ones at each call.

    Raises:
        DeviceError: The device cannot be divided.
    """
    import pyopencl as cl

    units = handle.max_compute_units // 2
    try:
        halves = handle.create_sub_devices([cl.device_partition_property.EQUALLY, max(units, 1)])
    except cl.Error as error:
        raise DeviceError(f"{handle.name.strip()} cannot be divided: {error}") from error
    if len(halves) < 2:
        raise DeviceError(f"{handle.name.strip()} has a single compute unit: it has no halves")
    found: list[Any] = halves[:2]
    return found


def _reason_for_no_device() -> str:
    if can_write(pocl_folder()):
        return ""
    wanted = next(iter(spares()), pocl_folder())
    return (
        f"PoCL finds none while there is no folder for its kernels ({wanted} cannot be used): set "
        f"{POCL_VARIABLE} to one that only you can write to. "
    )


def _fits(device: DeviceInfo, wanted: str | int | None) -> bool:
    if wanted is None or wanted == "":
        return True
    if isinstance(wanted, int):
        return device.index == wanted
    text = wanted.strip().lower()
    if text in ("gpu", "cpu"):
        return device.type == text
    if text.isdecimal():
        return device.index == int(text)
    return text in device.name.lower() or text in device.platform.lower()
