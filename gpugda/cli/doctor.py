"""``gpugda doctor``: reports what is installed, found and missing, and how to fix it."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from gpugda.cli.failures import EXIT_CODES
from gpugda.cli.options import SourceOptions
from gpugda.errors import ConfigurationError, DeviceError, GpugdaError
from gpugda.folders import can_write, has_room, others_can_change, spare_folder, spares
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpugda.accelerator import Accelerator
    from gpugda.device.devices import DeviceInfo


__all__ = ["Finding", "built", "diagnose", "print_diagnosis", "print_rates"]

_SAMPLE = "sample:wordnet"


def print_rates(source: SourceOptions, device: str | None) -> None:
    """Measures and prints rates; without a source, only those of the device."""
    from gpugda.cli.run import open_accelerator  # loads packages that a diagnosis may miss

    named = source.address or os.environ.get("GPUGDA_SOURCE") or os.environ.get("NEO4J_URI")
    if not named:
        source = SourceOptions(_SAMPLE)
    with open_accelerator(source, device) as accelerator:
        _print(accelerator)


def _print(accelerator: Accelerator) -> None:
    for what, rates in accelerator.calibrate(again=True).items():
        sys.stdout.write(f"{what}\n")
        for name, value in rates.items():
            sys.stdout.write(f"  {name.replace('_', ' '):<24}{_readable(name, value)}\n")


def _readable(name: str, value: float) -> str:
    if name.endswith("_per_second"):
        return f"{value:,.0f}"
    return f"{value * 1e3:.3f} ms"


PACKAGES = ("gpugda", "numpy", "pyarrow", "neo4j", "neo4j-rust-ext", "pyopencl")
OPTIONAL_PACKAGES = {
    "pocl-binary-distribution": "OpenCL on the CPU; or install the system's pocl-opencl-icd",
    "polars": "Result.to_polars(): pip install gpugda[polars]",
    "pandas": "Result.to_df(): pip install gpugda[pandas]",
}
NVIDIA_LIBRARY = "libnvidia-opencl.so.1"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Args:
        good: True if all is well, False if it needs a fix, None for information only.
        text: The finding.
        advice: How to fix it.
    """

    good: bool | None
    text: str
    advice: str = ""


def print_diagnosis() -> None:
    """Prints all findings; exits with the code of `DeviceError` if no device can be used."""
    usable = False
    for title, findings in diagnose():
        sys.stdout.write(f"{title}\n")
        for finding in findings:
            mark = {True: "ok", False: "!!", None: "  "}[finding.good]
            sys.stdout.write(f"  {mark} {finding.text}\n")
            if finding.advice:
                sys.stdout.write(f"     -> {finding.advice}\n")
        usable = usable or (title == DEVICES and any(finding.good for finding in findings))
    if not usable:
        sys.stdout.write("\nNo device can be used; queries run with --engine reference only.\n")
        raise typer.Exit(dict(EXIT_CODES)[DeviceError])
    sys.stdout.write("\nReady: gpugda demo\n")


DEVICES = "OpenCL devices"


def diagnose(
    environment: Mapping[str, str] | None = None, root: Path = Path("/")
) -> list[tuple[str, list[Finding]]]:
    """All findings by topic.

    Args:
        environment: Environment variables, default those of this process.
        root: Root of the file system.
    """
    # A copy, because pyopencl sets further variables when it is imported.
    variables = dict(os.environ if environment is None else environment)
    devices, error = _devices()
    damaged = _damaged()  # before kernels are built anew
    return [
        ("Python and packages", list(_packages())),
        (DEVICES, list(_device_findings(devices, error))),
        ("OpenCL drivers", list(_drivers(devices, variables, root))),
        ("Caches", [*_caches(variables), *damaged]),
        ("Environment", list(_variables(variables))),
    ]


# ------------------------------------------------------------------ Python
def _packages() -> Iterator[Finding]:
    yield Finding(
        True,
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}",
    )
    for name in PACKAGES:
        found = _version(name)
        advice = "" if found else f"pip install {name}"
        yield Finding(found is not None, f"{name} {found or 'is missing'}", advice)
    for name, purpose in OPTIONAL_PACKAGES.items():
        found = _version(name)
        yield Finding(None, f"{name} {found}" if found else f"{name} is not installed ({purpose})")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# ------------------------------------------------------------------ OpenCL
def _devices() -> tuple[list[DeviceInfo], str]:
    try:
        from gpugda.device.devices import list_devices

        return list(list_devices()), ""
    except (GpugdaError, ImportError, OSError) as error:
        return [], str(error)


def _device_findings(devices: list[DeviceInfo], error: str) -> Iterator[Finding]:
    from gpugda.cli.devices import device_line

    for number, device in enumerate(devices):
        line = f"{number}  {device_line(device)}"
        if getattr(device, "handle", None) is None:
            yield Finding(True, line)
            continue
        kernels = built(device)
        yield Finding(kernels.good is not False, line)  # a device that builds no kernel is useless
        yield kernels
    if not devices:
        yield Finding(
            False,
            f"none{': ' + error if error else ''}",
            "install the GPU's driver with OpenCL, or PoCL for the CPU: "
            "pip install pocl-binary-distribution, or the system's package pocl-opencl-icd",
        )


def _is_pocl(device: DeviceInfo) -> bool:
    return "portable computing" in device.platform.lower()


def built(device: DeviceInfo) -> Finding:
    """Reports whether the kernels build on the device, also with the options for its kind."""
    from contextlib import closing

    from gpugda.device.context import DeviceContext
    from gpugda.device.pocl_programs import check_pocl
    from gpugda.device.program import build_everything

    try:
        check_pocl(device)
        with closing(DeviceContext(device)) as context:
            plain = build_everything(context)
            tuned = " ".join(context.profile.options)
    except DeviceError as error:
        return Finding(
            False,
            f"   kernels do not build: {first_line(error)}",
            ""  # PoCL's errors say what to do
            if _is_pocl(device)
            else "update the device's driver, or choose another device (GPUGDA_DEVICE)",
        )
    if plain:
        return Finding(
            None, f"   kernels build, but not with {tuned}: plain build options are used"
        )
    return Finding(True, f"   kernels build with {tuned}")


def _drivers(
    devices: list[DeviceInfo], variables: Mapping[str, str], root: Path
) -> Iterator[Finding]:
    folder = Path(variables.get("OCL_ICD_VENDORS") or root / "etc/OpenCL/vendors")
    registered = sorted(path.name for path in folder.glob("*.icd")) if folder.is_dir() else []
    names = ", ".join(registered) or "none"
    yield Finding(None, f"registered in {folder}: {names}")
    yield Finding(
        None, f"OpenCL loader of the system: {_loader() or 'none; pyopencl brings its own'}"
    )
    if any(map(_is_pocl, devices)):
        yield Finding(True, "PoCL, OpenCL on the CPU")
    yield from _nvidia(devices, registered, root)


def _loader() -> str | None:
    from ctypes.util import find_library

    return find_library("OpenCL")


def _nvidia(devices: list[DeviceInfo], registered: list[str], root: Path) -> Iterator[Finding]:
    if not (root / "proc/driver/nvidia").exists():
        yield Finding(None, "no NVIDIA driver is loaded")
        return
    if any("nvidia" in device.vendor.lower() for device in devices):
        yield Finding(True, "NVIDIA driver, with OpenCL")
        return
    if not _can_load(NVIDIA_LIBRARY):
        yield Finding(
            False,
            f"an NVIDIA driver is loaded, but its OpenCL library {NVIDIA_LIBRARY} is missing",
            "install the driver's OpenCL package (libnvidia-compute, nvidia-opencl-icd); "
            "in a container, start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        )
    elif not any("nvidia" in name for name in registered):
        yield Finding(
            False,
            "an NVIDIA driver with OpenCL is there, but not registered",
            "as root: mkdir -p /etc/OpenCL/vendors && "
            f"echo {NVIDIA_LIBRARY} > /etc/OpenCL/vendors/nvidia.icd",
        )
    else:
        yield Finding(
            False,
            "an NVIDIA driver is registered, but shows no device",
            "check with nvidia-smi that the GPU is visible here and the driver's versions agree",
        )


def _can_load(library: str) -> bool:
    import ctypes

    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


# ------------------------------------------------------------------ folders and variables
def _caches(variables: Mapping[str, str]) -> Iterator[Finding]:
    from gpugda.device.caches import requested_pocl_folder
    from gpugda.folders import requested_cache_folder

    try:
        own = requested_cache_folder(variables)
    except ConfigurationError as error:
        yield Finding(False, f"gpugda: {error}", "kernels are compiled again in each process")
    else:
        off = Finding(None, "gpugda: switched off by GPUGDA_CACHE_DIR")
        yield off if own is None else _cache("gpugda", own)
    yield _cache("PoCL", requested_pocl_folder(variables))


def _damaged() -> list[Finding]:
    from gpugda.device.caches import pocl_folder
    from gpugda.device.pocl_entries import damaged_entries

    number = damaged_entries(pocl_folder())
    if not number:
        return []
    text = f"PoCL: {number} damaged files in {pocl_folder()} were removed, and are compiled anew"
    return [Finding(False, text, "see whether the disk is full, or was switched off in use")]


def _cache(name: str, folder: Path) -> Finding:
    wanted = next((path for path, spare in spares().items() if spare == folder), folder)
    reason = "" if can_write(wanted) else "cannot be written"
    reason = reason or others_can_change(wanted)
    if not reason and not has_room(wanted):
        return Finding(False, f"{name}: there is no room left in {wanted}", "make some there")
    if not reason:
        return Finding(True, f"{name}: {wanted}")
    advice = (
        "make it a folder that only you can write to, or set XDG_CACHE_HOME (for gpugda alone "
        "GPUGDA_CACHE_DIR)"
    )
    spare = spare_folder()
    if spare is not None:
        text = f"{name}: {wanted} {reason}, {spare / name.lower()} is used instead"
        return Finding(False, text, advice)
    again = "kernels are compiled again in each process"
    return Finding(False, f"{name}: {wanted} {reason}", f"{again}; {advice}")


def _variables(variables: Mapping[str, str]) -> Iterator[Finding]:
    prefixes = ("GPUGDA_", "NEO4J_", "PYOPENCL_", "POCL_", "OCL_ICD_")
    names = sorted(name for name in variables if name.startswith(prefixes))
    for name in names:
        # Values that may be or contain a secret, as addresses can, are not shown.
        secret = name.startswith("NEO4J_") or name == "GPUGDA_SOURCE"
        yield Finding(None, f"{name} is set" if secret else f"{name}={variables[name]}")
    if not names:
        yield Finding(None, "no variable of gpugda, Neo4j or OpenCL is set")
