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
import stat
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from gpugda.snapshot.store import host_token, is_alive

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "lock_folder",
    "make_private_folder",
    "remove_leftovers",
    "replace_file",
    "why_not_private",
]

logger = logging.getLogger(__name__)

_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_LOCK = ".lock"
_DAY_SECONDS = 86_400.0
_PAUSE_SECONDS = 0.05
# What a save, or a removal, leaves when its process is killed.
_LEFTOVER = re.compile(r"\..+\.([0-9a-f]{8})\.(\d+)\.\w+\.(tmp|gone)")


def why_not_private(folder: Path) -> str:
    """Why snapshots must not lie there, and what to do; empty if they may, or nothing is there.

    Raises:
        OSError: The folder cannot be looked at.
    """
    if (
        sys.platform == "win32"
    ):  # elsewhere the bits say nothing, and a user's folders are the user's
        return ""
    try:
        facts = folder.lstat()
    except FileNotFoundError:
        return ""
    other = "or set GPUGDA_CACHE_DIR to another one, or to 'off'"
    if stat.S_ISLNK(facts.st_mode):
        return f"{folder} is a link to elsewhere: name the folder itself, {other}"
    if not stat.S_ISDIR(facts.st_mode):
        return f"{folder} is not a folder: remove it, {other}"
    if facts.st_uid != os.getuid():
        return f"the folder {folder} belongs to another user: remove it, {other}"
    if facts.st_mode & _OTHERS:
        return f"others may use the folder {folder}: make it private (chmod 700), {other}"
    above = folder.parent.stat()
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        return f"anybody may replace what lies in {folder.parent}: forbid that (chmod o-w), {other}"
    return ""


def make_private_folder(folder: Path) -> None:
    """Makes the folder unless it is there; what is made on the way is private too.

    Raises:
        OSError: It cannot be made.
    """
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            with contextlib.suppress(FileExistsError):  # another process was faster
                path.mkdir(mode=0o700)


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file as a whole, in a private folder: others see the old one or the new one.

    Raises:
        OSError: It cannot be written; nothing is left of it.
    """
    make_private_folder(path.parent)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(content)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)


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
