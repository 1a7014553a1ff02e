"""Describes the machine and the versions of the measurements, without host names and paths."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["describe_machine", "peak_bytes"]

_PACKAGES = (
    "gpugda",
    "numpy",
    "pyarrow",
    "neo4j",
    "neo4j-rust-ext",
    "pyopencl",
    "pocl-binary-distribution",
)


def describe_machine(status: Mapping[str, Any]) -> dict[str, Any]:
    """Facts that a reader needs to judge the figures.

    Args:
        status: Result of `Accelerator.status`, after a query ran on the device.
    """
    return {
        "device": _device(str(status.get("device", ""))),
        "server": status.get("server", ""),
        "freshness": status.get("freshness", ""),
        "cpu": _cpu(),
        "cores": _cores(),
        "memory_bytes": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
    }


def peak_bytes() -> int | None:
    """Peak memory of this process; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if platform.system() == "Darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _device(name: str) -> dict[str, Any]:
    from gpugda.device.devices import list_devices

    for device in list_devices():
        if device.name == name:
            return {
                "name": device.name,
                "platform": device.platform,
                "type": device.type,
                "compute_units": device.compute_units,
                "memory_bytes": device.global_memory_bytes,
                "driver": device.version,
            }
    return {"name": name}


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not available on every system
        return os.cpu_count() or 0


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
