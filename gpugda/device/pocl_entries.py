"""What PoCL's folder holds for a program: its code, and checksums of its kernels' files.

PoCL loads whatever lies in its folder, and ends the process if that is damaged, as after a power
cut or on a full disk. So a kernel is launched only after its files were compared with the checksums
that were written when they were complete. A program is kept as the compiler's intermediate code,
which loads in a fifth of the time that PoCL takes to find its own copy, and without writing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from typing import TYPE_CHECKING, Final

from gpugda.device.caches import pocl_folder
from gpugda.folders import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from gpugda.device.devices import DeviceInfo

__all__ = [
    "BUILD_OPTIONS",
    "damaged_entries",
    "entry_key",
    "files_of",
    "is_intact",
    "is_kept",
    "keep_files",
    "kernel_in",
    "program_path",
    "remove_unused",
]

_LOGGER = logging.getLogger("gpugda.device")

BUILD_OPTIONS: Final = ("-cl-kernel-arg-info",)
"""Options with which a kept program is built; the child needs the types of arguments."""
_NAME_LETTERS: Final = 16
_UNUSED_SECONDS: Final = 180 * 86_400.0
_LEFT_SECONDS: Final = 3_600.0


def entry_key(info: DeviceInfo, text: str, options: Iterable[str], group_size: int) -> str:
    """Name of a program's entry: a digest of all that its kernels depend on."""
    made_from = [info.platform_version, info.name, info.version, info.driver_version]
    content = json.dumps([*made_from, str(group_size), *options, text])
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def kernel_in(key: str, name: str) -> str:
    """A kernel's name in a kept program: PoCL files kernels of such programs by name alone."""
    return f"{name}_{key[:_NAME_LETTERS]}"


def program_path(key: str, folder: Path | None = None) -> Path:
    """File of a program's intermediate code, in the form of `program_cache`."""
    return (folder or pocl_folder()) / f"{key}.program"


def files_of(key: str, name: str, *, large: bool, folder: Path | None = None) -> Path:
    """File with the checksums of what PoCL loads for a kernel.

    Args:
        key: Key of the program.
        name: Name of the kernel.
        large: True for launches of very many work groups, for which PoCL compiles another form.
        folder: PoCL's folder if it is not the current one.
    """
    return (folder or pocl_folder()) / f"{key}-{name}{'-large' if large else ''}.files"


def keep_files(path: Path, files: Iterable[Path], source: Path) -> None:
    """Moves what PoCL compiled in another folder to the one of ``path``, and writes its checksums.

    Raises:
        OSError: The disk is full, for example.
    """
    sums: dict[str, list[object]] = {}
    for file in files:
        place = file.relative_to(source)
        sums[str(place)] = _sum(file)
        (path.parent / place).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.replace(file, path.parent / place)
    replace_file(path, json.dumps(sums).encode())


def is_kept(path: Path) -> bool:
    """True if there are checksums; does not compare them."""
    return path.exists()


def is_intact(path: Path) -> bool:
    """True if all files of a kernel are as they were written; removes them if not."""
    try:
        sums = json.loads(path.read_bytes())
        found = {place: _sum(path.parent / place) for place in sums}
    except FileNotFoundError:
        if not path.exists():
            return False
        found = sums = {"": []}
    except (OSError, ValueError):
        found, sums = {}, {"": []}
    if found == sums != {"": []}:
        with contextlib.suppress(OSError):
            os.utime(path)
        return True
    _LOGGER.warning("the compiled kernel %s is damaged: it is removed and compiled anew", path.stem)
    _remove(path)
    return False


def damaged_entries(folder: Path) -> int:
    """Removes damaged kernels and programs, and returns their number."""
    from gpugda.device.program_cache import kept_program

    damaged = sum(not is_intact(path) for path in sorted(folder.glob("*.files")))
    return damaged + sum(kept_program(path) is None for path in sorted(folder.glob("*.program")))


def remove_unused(folder: Path) -> None:
    """Removes what no process has used for half a year, and what PoCL left behind."""
    now = time.time()
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            facts = path.lstat()
            if path.suffix in (".files", ".program"):
                if facts.st_mtime < now - _UNUSED_SECONDS:
                    _remove(path)
            elif path.name.startswith("tempfile_") and facts.st_mtime < now - _LEFT_SECONDS:
                path.unlink()


def _remove(path: Path) -> None:
    places: Iterable[str] = ()
    if path.suffix == ".files":
        with contextlib.suppress(OSError, ValueError):
            places = list(json.loads(path.read_bytes()))
    for each in (path, *(path.parent / place for place in places)):
        with contextlib.suppress(OSError):
            each.unlink()


def _sum(file: Path) -> list[object]:
    content = file.read_bytes()
    return [len(content), hashlib.sha256(content).hexdigest()]
