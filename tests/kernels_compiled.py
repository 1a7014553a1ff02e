"""Compiles the kernels before the first test, shared by two workers.

Otherwise first queries on a clean machine would go to the database.
"""

from __future__ import annotations

import os

from gpugda.device import program
from gpugda.device.context import DeviceContext, choose_device, list_devices
from gpugda.match.session import DeviceSession


def compile_kernels(worker: str) -> None:
    """Returns when all kernels are compiled.

    Args:
        worker: Name of the process, as xdist gives it; empty for a single one.
    """
    if not list_devices():
        return
    device = os.environ.get("GPUGDA_DEVICE")
    if worker.removeprefix("gw") in tuple("13579"):
        _compile_backwards(device)
    session = DeviceSession(device, None, "once")
    session.warm()
    session.close()


def _compile_backwards(device: str | None) -> None:
    """Begins with the last file, as the other worker begins with the first.

    What one has compiled, the other finds in PoCL's cache.
    """
    context = DeviceContext(choose_device(device))
    if context.is_pocl and not program.is_everything_built(context):
        for file in reversed(program._files(context)):
            program.build_file(context, file)
    context.close()
