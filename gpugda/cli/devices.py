"""``gpugda devices`` and ``gpugda warmup``: lists the devices, compiles the kernels in advance."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from typing import TYPE_CHECKING

from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from gpugda.device.devices import DeviceInfo


__all__ = ["device_line", "format_bytes", "print_devices", "warm_up"]


def print_devices() -> None:
    """Prints one line per device.

    Raises:
        DeviceError: There is no device.
    """
    from gpugda.device.devices import list_devices

    found = list_devices()
    if not found:
        raise DeviceError("No OpenCL device was found; 'gpugda doctor' says what is missing.")
    for number, device in enumerate(found):
        sys.stdout.write(f"{number}  {device_line(device)}\n")


def device_line(device: DeviceInfo) -> str:
    """Name, kind, compute units, memory and platform of a device."""
    return (
        f"{device.name} ({device.type}, {device.compute_units} compute units, "
        f"{format_bytes(device.global_memory_bytes)}), {device.platform}"
    )


def format_bytes(count: float) -> str:
    """A number of bytes as readable text."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def warm_up(device: str | None) -> None:
    """Compiles the kernels that are not compiled yet for a device, and prints the time.

    Raises:
        DeviceError: There is no such device, or a kernel does not build.
    """
    from gpugda.config import requested_device
    from gpugda.match.session import DeviceSession

    started = time.monotonic()
    with closing(DeviceSession(requested_device(device), None, "once")) as session:
        name = session.info.name
        if session.warm_soon():
            session.warm()
            sys.stdout.write(
                f"compiled the kernels for {name} in {time.monotonic() - started:.0f} s\n"
            )
        else:
            sys.stdout.write(f"the kernels for {name} are compiled\n")
