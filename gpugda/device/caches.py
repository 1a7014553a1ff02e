"""Cache folders of PoCL and pyopencl; replaces those that are not writable.

Without a folder PoCL reports no device, and pyopencl cannot be imported. PoCL loads its kernels
from its folder and ends the process if the file system forbids that (``noexec``, as Docker mounts
``--tmpfs``).
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.folders import can_run, can_write, spare_folder, user_cache, writable_or_spare

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

__all__ = [
    "POCL_VARIABLE",
    "pocl_folder",
    "prepare_caches",
    "pyopencl_folders",
    "why_pocl_cannot_load",
]

logger = logging.getLogger("gpugda.device")

POCL_VARIABLE = "POCL_CACHE_DIR"
_SQLITE = b"SQLite format 3\0"


def pocl_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Folder where PoCL keeps compiled kernels; it may not exist yet."""
    found = os.environ if variables is None else variables
    if found.get(POCL_VARIABLE):
        return Path(found[POCL_VARIABLE])
    if found.get("XDG_CACHE_HOME"):
        return Path(found["XDG_CACHE_HOME"], "pocl", "kcache")
    return Path(found.get("HOME") or "/tmp", ".cache", "pocl", "kcache")


def pyopencl_folders() -> tuple[Path, ...]:
    """Folders where pyopencl keeps programs and generated code."""
    return user_cache("pyopencl"), user_cache("pytools")


def prepare_caches(variables: MutableMapping[str, str] = os.environ) -> None:
    """Selects writable cache folders; changes nothing if the defaults are writable."""
    wanted = pocl_folder(variables)
    if not can_write(wanted):
        found = writable_or_spare(wanted, "pocl")
        if found is not None:
            found.mkdir(mode=0o700, exist_ok=True)
            variables[POCL_VARIABLE] = str(found)
    elif not can_run(wanted):
        spare = spare_folder()
        if spare is not None and can_run(spare):
            found = spare / "pocl"
            found.mkdir(mode=0o700, exist_ok=True)
            variables[POCL_VARIABLE] = str(found)
            logger.info("PoCL cannot load kernels from %s (noexec): %s is used", wanted, found)
    if "pyopencl" not in sys.modules and not all(map(_is_usable, pyopencl_folders())):
        _import_elsewhere(variables)


def why_pocl_cannot_load(variables: Mapping[str, str] | None = None) -> str:
    """Why PoCL would end the process on loading a kernel, with the remedy; empty if it can load."""
    folder = pocl_folder(variables)
    if can_run(folder):
        return ""
    return (
        f"PoCL loads kernels from {folder}, where the file system forbids it (it is mounted "
        f"noexec): set {POCL_VARIABLE} to a folder elsewhere that can be written, or mount it with "
        "exec (docker run --tmpfs /tmp:exec)"
    )


def _import_elsewhere(variables: MutableMapping[str, str]) -> None:
    """Imports pyopencl, which sets its cache folders at import, with another home for caches."""
    found = writable_or_spare(pyopencl_folders()[0], "pyopencl")
    name, value = ("PYOPENCL_NO_CACHE", "true") if found is None else ("XDG_CACHE_HOME", str(found))
    before = variables.get(name)
    variables[name] = value
    try:
        importlib.import_module("pyopencl.invoker")
    except ImportError as error:
        logger.debug("pyopencl cannot be imported: %s", error)
    finally:
        if before is None:
            del variables[name]
        else:
            variables[name] = before


def _is_usable(folder: Path) -> bool:
    """True if files can be created there and existing databases are writable and intact."""
    if not can_write(folder):
        return False
    return all(map(_is_usable_database, folder.glob("pdict-*.sqlite")))


def _is_usable_database(path: Path) -> bool:
    try:
        with path.open("r+b") as file:
            return file.read(len(_SQLITE)) in (b"", _SQLITE)
    except OSError:
        return False
