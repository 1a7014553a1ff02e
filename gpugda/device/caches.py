"""The folder in which PoCL keeps compiled kernels: one that only this user can change.

PoCL loads code from it into this process, reports no device without it, and ends the process if the
file system forbids to load code (``noexec``, as Docker mounts ``--tmpfs``). Nothing else of OpenCL
is kept on disk: pyopencl's own caches hold pickles, and are not used.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpugda.folders import can_run, code_folder, others_can_change, spare_folder, user_cache

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

__all__ = [
    "POCL_VARIABLE",
    "pocl_folder",
    "prepare_caches",
    "requested_pocl_folder",
    "why_pocl_cannot_load",
]

logger = logging.getLogger("gpugda.device")

POCL_VARIABLE: Final = "POCL_CACHE_DIR"
_NOWHERE: Final = f"{os.devnull}/pocl"
"""A folder that PoCL cannot create, so that it reports no device."""


def pocl_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Folder where PoCL keeps compiled kernels; it may not exist yet."""
    found = os.environ if variables is None else variables
    if found.get(POCL_VARIABLE):
        return Path(found[POCL_VARIABLE])
    if found.get("XDG_CACHE_HOME"):
        return Path(found["XDG_CACHE_HOME"], "pocl", "kcache")
    return Path(found.get("HOME") or "/tmp", ".cache", "pocl", "kcache")


def requested_pocl_folder(variables: Mapping[str, str]) -> Path:
    """The folder that is wanted for PoCL: its variable's, else one beside the snapshots."""
    if variables.get(POCL_VARIABLE):
        return Path(variables[POCL_VARIABLE])
    return user_cache("gpugda") / "pocl"


def prepare_caches(variables: MutableMapping[str, str] = os.environ) -> None:
    """Selects PoCL's folder, before anything is loaded from one."""
    if _is_pocl_started():  # by this program's user: too late to choose
        return
    wanted = requested_pocl_folder(variables)
    found = code_folder(wanted, "pocl")
    if found is not None and not can_run(found):
        spare = spare_folder()
        if spare is not None and can_run(spare):
            logger.info("PoCL cannot load kernels from %s (noexec): %s is used", found, spare)
            found = spare / "pocl"
            found.mkdir(mode=0o700, exist_ok=True)
    variables[POCL_VARIABLE] = _NOWHERE if found is None else str(found)


def why_pocl_cannot_load(variables: Mapping[str, str] | None = None) -> str:
    """Why PoCL must not load kernels from its folder, with the remedy; empty if it may."""
    folder = pocl_folder(variables)
    if not can_run(folder):
        return (
            f"PoCL loads kernels from {folder}, where the file system forbids it (it is mounted "
            f"noexec): set {POCL_VARIABLE} to a folder elsewhere that can be written, or mount it "
            "with exec (docker run --tmpfs /tmp:exec)"
        )
    if reason := others_can_change(folder):
        return (
            f"PoCL was started before gpugda was imported, and loads kernels from {folder}, which "
            f"could hold the code of others ({reason}): import gpugda first, or set {POCL_VARIABLE}"
        )
    return ""


def _is_pocl_started() -> bool:
    """True if PoCL has read its variable already."""
    if "pyopencl" not in sys.modules:
        return False
    try:
        return "/libpocl" in Path("/proc/self/maps").read_text(errors="replace")
    except OSError:
        return False
