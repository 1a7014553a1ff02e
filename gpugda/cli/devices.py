"""``gpugda devices``: lists the OpenCL devices."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gpugda.cli.status import format_bytes
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from gpugda.device.devices import DeviceInfo

__all__ = ["device_line", "print_devices"]


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
