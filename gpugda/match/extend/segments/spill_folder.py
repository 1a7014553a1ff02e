"""A folder for the files of one join, which other processes keep while its process lives."""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
import time
import uuid
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError
from gpugda.folders import cache_folder, make_private_folder, privacy_problem
from gpugda.process import host_token, is_alive
from gpugda.snapshot.cache_folder import lock_folder

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SpillFolder", "remove_abandoned", "spill_place"]

logger = logging.getLogger(__name__)

_NAME: Final = "rows"
_FOLDER: Final = re.compile(r"([0-9a-f]{8})\.(\d+)\.(\d+)\.[0-9a-f]+")
_DAY_SECONDS: Final = 86_400.0
_LOCK_SECONDS: Final = 10.0
_STARTED: Final = 19
"""Index of the start time in ``/proc/…/stat``, counted from the state."""


def spill_place(environment: Mapping[str, str] | None = None) -> Path | None:
    """The folder for spilled rows, below the cache folder; None if off or not private."""
    try:
        folder = cache_folder(environment)
    except ConfigurationError as error:
        logger.warning("rows are not written to disk: %s", error)
        return None
    if folder is None:
        return None
    try:
        reason = privacy_problem(folder / _NAME)
    except OSError as error:
        reason = str(error)
    if reason:
        logger.warning("rows are not written to disk: %s", reason)
    return None if reason else folder / _NAME


class SpillFolder:
    """A folder that is created and locked now, and removed with its contents.

    Its name holds the machine, the process and the start time of the process: on a file system
    without locks, other processes judge by these.

    Args:
        place: The parent folder.

    Attributes:
        path: The folder.

    Raises:
        OSError: It cannot be created.
    """

    def __init__(self, place: Path) -> None:
        make_private_folder(place)
        process = os.getpid()
        name = f"{host_token()}.{process}.{_started(process)}.{uuid.uuid4().hex}"
        self.path = place / name
        # The parent is locked, so that no process inspects the folder before it is locked itself.
        with lock_folder(place, _LOCK_SECONDS):
            self.path.mkdir(mode=0o700)
            descriptor = _locked(self.path)
        # Also runs at the end of the program.
        self._remove = weakref.finalize(self, _removed, self.path, descriptor, process)

    def remove(self) -> None:
        """Removes the folder. May be called again."""
        self._remove()


def remove_abandoned(place: Path | None = None) -> None:
    """Removes folders of killed processes; ``place``: the parent, None for this user's."""
    place = place or spill_place()
    if place is None or not place.is_dir():
        return
    try:
        with lock_folder(place, 0.0) as is_locked:
            for path in list(place.iterdir()) if is_locked else []:
                found = _FOLDER.fullmatch(path.name)
                if found and not path.is_symlink() and _is_abandoned(path, found):
                    shutil.rmtree(path, ignore_errors=True)
                    logger.info("removed %s, whose process is gone", path)
    except OSError as error:
        logger.debug("nothing is removed from %s: %s", place, error)


def _is_abandoned(path: Path, name: re.Match[str]) -> bool:
    descriptor = _locked(path)
    if descriptor is None:
        return False
    try:
        if name[1] != host_token():  # process numbers of another machine
            return time.time() - path.lstat().st_mtime > _DAY_SECONDS
        process, started = int(name[2]), int(name[3])
        return not is_alive(process) or _started(process) != started
    finally:
        _unlocked(descriptor)


def _started(process: int) -> int:
    """Start time of a process in ticks since boot; 0 if it is unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    return int(text.rpartition(")")[2].split()[_STARTED])


def _locked(path: Path) -> int | None:
    """Locks a folder. Returns None if another process holds it, -1 if there are no locks."""
    if sys.platform == "win32":
        return -1
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError as error:
        logger.debug("%s is used without a lock: %s", path, error)
    return descriptor


def _unlocked(descriptor: int | None) -> None:
    if descriptor is not None and descriptor >= 0:
        os.close(descriptor)  # also releases the lock


def _removed(path: Path, descriptor: int | None, process: int) -> None:
    _unlocked(descriptor)
    if os.getpid() == process:  # not in a forked child
        shutil.rmtree(path, ignore_errors=True)
