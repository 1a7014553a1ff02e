"""The folder of cached snapshots: its owner's only, and used by one writer at a time.

Whoever may write there could make this program answer what they like, and whoever may read there
sees the database without logging in.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shutil
import sys
import time
from typing import TYPE_CHECKING

from gpugda.process import host_token, is_alive

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "lock_folder",
    "remove_leftovers",
]

logger = logging.getLogger(__name__)

_LOCK = ".lock"
_DAY_SECONDS = 86_400.0
_PAUSE_SECONDS = 0.05
# What a save, or a removal, leaves when its process is killed.
_LEFTOVER = re.compile(r"\..+\.([0-9a-f]{8})\.(\d+)\.\w+\.(tmp|gone)")


@contextlib.contextmanager
def lock_folder(folder: Path, seconds: float) -> Iterator[bool]:
    """Holds the folder's lock, which a process that dies gives up; gives whether it was got.

    Args:
        folder: It exists.
        seconds: How long to wait for others.
    """
    if sys.platform == "win32":
        yield True
        return
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _try_lock(descriptor, time.monotonic() + seconds)
    finally:
        os.close(descriptor)  # and with it the lock


def _try_lock(descriptor: int, deadline: float) -> bool:
    while sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        except OSError as error:  # a file system without locks
            logger.debug("the snapshot cache is used without a lock: %s", error)
            return True
        else:
            return True
    return True


def remove_leftovers(folder: Path) -> None:
    """Removes what killed processes left; to be called with the lock held."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            found = _LEFTOVER.fullmatch(path.name)
            if found and not path.is_symlink() and _is_abandoned(path, found[1], int(found[2])):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path, host: str, process: int) -> bool:
    # A process id says something on its own machine only; no save takes a day.
    if host == host_token() and not is_alive(process):
        return True
    return time.time() - path.lstat().st_mtime > _DAY_SECONDS
