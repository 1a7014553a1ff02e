"""Detects a PoCL that cannot link or load kernels, since using it would end the process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from gpugda.device.caches import why_pocl_cannot_load
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from gpugda.device.devices import DeviceInfo

__all__ = ["check_linker"]

_SECONDS: Final = 300.0
_BUILD: Final = """
import sys
from contextlib import closing
from gpugda.device.context import DeviceContext
from gpugda.device.devices import list_devices
from gpugda.device.program import build_everything
with closing(DeviceContext(list_devices()[int(sys.argv[1])])) as context:
    build_everything(context)
"""

_tested_devices: set[int] = set()
"""Indexes of the devices that were checked successfully."""


def check_linker(info: DeviceInfo) -> None:
    """Raises if PoCL cannot link or load kernels; opens and builds nothing in this process.

    If no ``ld`` is found, another process tries a build: PoCL's cache may have the kernels, and a
    crash ends only that process.

    Raises:
        DeviceError: Kernels cannot be linked or loaded.
    """
    if info.index in _tested_devices:
        return
    is_pocl = "portable computing language" in info.platform.lower()
    if is_pocl and (reason := why_pocl_cannot_load()):
        raise DeviceError(f"{info.name}: {reason}. engine='reference' needs no device.")
    if is_pocl and shutil.which("ld") is None and not _builds_apart(info.index):
        raise DeviceError(
            f"{info.name}: PoCL cannot make kernels, as it finds no linker (ld): install one and "
            "the libraries of C and of the compiler (packages binutils, libc6-dev and "
            "libgcc-12-dev or later, or gcc), or see that ld is in a folder of PATH. "
            "engine='reference' needs no device."
        )
    _tested_devices.add(info.index)


def _builds_apart(number: int) -> bool:
    command = [sys.executable, "-P", "-c", _BUILD, str(number)]
    try:
        child = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return child.returncode == 0
