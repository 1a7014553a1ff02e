"""Cache folders of PoCL and pyopencl: where theirs cannot be written, they get others.

PoCL without a folder reports no device, and pyopencl is not even imported.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gpugda.folders import can_write, user_cache, writable_or_spare

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

__all__ = ["POCL_VARIABLE", "pocl_folder", "prepare_caches", "pyopencl_folders"]

logger = logging.getLogger("gpugda.device")

POCL_VARIABLE = "POCL_CACHE_DIR"
_SQLITE = b"SQLite format 3\0"


def pocl_folder(variables: Mapping[str, str] | None = None) -> Path:
    """Where PoCL keeps what it compiled; it may not be there yet."""
    found = os.environ if variables is None else variables
    if found.get(POCL_VARIABLE):
        return Path(found[POCL_VARIABLE])
    if found.get("XDG_CACHE_HOME"):
        return Path(found["XDG_CACHE_HOME"], "pocl", "kcache")
    return Path(found.get("HOME") or "/tmp", ".cache", "pocl", "kcache")


def pyopencl_folders() -> tuple[Path, ...]:
    """Where pyopencl keeps programs and generated code."""
    return user_cache("pyopencl"), user_cache("pytools")


def prepare_caches(variables: MutableMapping[str, str] = os.environ) -> None:
    """Leaves everything as it is where the folders can be written, which is nearly always."""
    wanted = pocl_folder(variables)
    if not can_write(wanted):
        found = writable_or_spare(wanted, "pocl")
        if found is not None:
            found.mkdir(mode=0o700, exist_ok=True)
            variables[POCL_VARIABLE] = str(found)
    if "pyopencl" not in sys.modules and not all(map(_is_usable, pyopencl_folders())):
        _import_elsewhere(variables)


def _import_elsewhere(variables: MutableMapping[str, str]) -> None:
    """Imports pyopencl, which looks for its folders then, with another home for caches."""
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
    """Whether files can be made there, and those that are there can be written and make sense."""
    if not can_write(folder):
        return False
    return all(map(_is_usable_database, folder.glob("pdict-*.sqlite")))


def _is_usable_database(path: Path) -> bool:
    try:
        with path.open("r+b") as file:
            return file.read(len(_SQLITE)) in (b"", _SQLITE)
    except OSError:
        return False
