"""The folder of cached snapshots: private to its owner, with one writer at a time.

Anyone who can write there could forge this program's answers, and anyone who can read there sees
the database without logging in.
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
# Left behind by a save or a removal whose process was killed.
_LEFTOVER = re.compile(r"\..+\.([0-9a-f]{8})\.(\d+)\.\w+\.(tmp|gone)")


@contextlib.contextmanager
def lock_folder(folder: Path, seconds: float) -> Iterator[bool]:
    """Holds the folder's lock, which the system releases if the process dies; yields success.

    Args:
        folder: The folder, which exists.
        seconds: Maximum time to wait for other processes.
    """
    if sys.platform == "win32":
        yield True
        return
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _try_lock(descriptor, time.monotonic() + seconds)
    finally:
        os.close(descriptor)  # also releases the lock


def _try_lock(descriptor: int, deadline: float) -> bool:
    while sys.platform != "win32":
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_PAUSE_SECONDS)
        except OSError as error:  # the file system has no locks
            logger.debug("the snapshot cache is used without a lock: %s", error)
            return True
        else:
            return True
    return True


def remove_leftovers(folder: Path) -> None:
    """Removes what killed processes left; the caller must hold the lock."""
    with contextlib.suppress(OSError):
        for path in list(folder.iterdir()):
            found = _LEFTOVER.fullmatch(path.name)
            if found and not path.is_symlink() and _is_abandoned(path, found[1], int(found[2])):
                shutil.rmtree(path, ignore_errors=True)


def _is_abandoned(path: Path, host: str, process: int) -> bool:
    # A process id has a meaning on its own machine only; no save takes a day.
    if host == host_token() and not is_alive(process):
        return True
    return time.time() - path.lstat().st_mtime > _DAY_SECONDS
