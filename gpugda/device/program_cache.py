"""Compiled kernels on disk, shared by all processes of one user.

The file name of an entry is a digest of the inputs of the compilation; entries are replaced as a
whole. An entry holds a checksum, so that damage is noticed and the kernel is compiled anew. No
other user may write to the folder, as a program on disk is code that this process runs.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from typing import TYPE_CHECKING

from gpugda.errors import ConfigurationError
from gpugda.folders import cache_folder, privacy_problem, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gpugda.device.devices import DeviceInfo

__all__ = [
    "discard_program",
    "keep_program",
    "keep_program_or_fail",
    "kept_program",
    "program_file",
    "program_folder",
]

_LOGGER = logging.getLogger("gpugda.device")
_MAGIC = b"gpugda program 1\n"
_SUFFIX = ".program"
_SUM_BYTES = 32
_UNUSED_SECONDS = 180 * 86_400.0


def program_folder() -> Path | None:
    """Folder of programs, beside the snapshots; None if it is switched off or not private."""
    try:
        folder = cache_folder()
        if folder is None:
            return None
        folder = folder / "programs"
        if reason := privacy_problem(folder):
            _LOGGER.info("compiled kernels are not kept: %s", reason)
            return None
    except (ConfigurationError, OSError) as error:
        _LOGGER.info("compiled kernels are not kept: %s", error)
        return None
    return folder


def program_file(info: DeviceInfo, text: str, options: Iterable[str]) -> Path | None:
    """File of the program of a text for a device and its driver; None if programs are not kept."""
    folder = program_folder()
    if folder is None:
        return None
    made_from = [info.platform, info.platform_version, info.name, info.vendor, info.version]
    made_from += [info.driver_version, *options, text]
    key = hashlib.sha256(json.dumps(made_from).encode()).hexdigest()
    return folder / f"{key}{_SUFFIX}"


def kept_program(path: Path | None) -> bytes | None:
    """Reads a kept program; None if there is none or it is damaged."""
    if path is None:
        return None
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        _LOGGER.info("a kept program cannot be read: %s", error)
        return None
    start = len(_MAGIC) + _SUM_BYTES
    binary = content[start:]
    if content[:start] != _MAGIC + hashlib.sha256(binary).digest():
        discard_program(path, "it is damaged")
        return None
    with contextlib.suppress(OSError):
        os.utime(path)
    return binary


def keep_program(path: Path | None, binary: bytes) -> None:
    """Writes a program; a failure is only logged."""
    if path is None:
        return
    try:
        keep_program_or_fail(path, binary)
        _remove_unused(path.parent)
    except OSError as error:
        _LOGGER.info("compiled kernels cannot be kept: %s", error)


def keep_program_or_fail(path: Path, binary: bytes) -> None:
    """Writes a program.

    Raises:
        OSError: It cannot be written.
    """
    replace_file(path, _MAGIC + hashlib.sha256(binary).digest() + binary)


def discard_program(path: Path | None, reason: str) -> None:
    """Deletes a program that is unusable."""
    if path is not None:
        _LOGGER.info("the kept program %s is discarded and compiled anew: %s", path.name, reason)
        with contextlib.suppress(OSError):
            path.unlink()


def _remove_unused(folder: Path) -> None:
    oldest = time.time() - _UNUSED_SECONDS
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.lstat().st_mtime < oldest:
                path.unlink()
