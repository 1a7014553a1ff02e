"""Private cache folders, and a temporary one if the user's folder cannot be used.

Who can change a cache folder, or put another one in its place, can forge answers, and with compiled
kernels runs code in this process. So a path is examined from the root on, through all its links.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import logging
import os
import shutil
import stat
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "cache_folder",
    "can_run",
    "can_write",
    "code_folder",
    "has_room",
    "make_private_folder",
    "others_can_change",
    "privacy_problem",
    "replace_file",
    "requested_cache_folder",
    "spare_folder",
    "spares",
    "user_cache",
    "writable_or_spare",
]

logger = logging.getLogger(__name__)

_OFF: Final = ("", "off", "none", "0", "false")
_OTHER_USERS: Final = stat.S_IRWXG | stat.S_IRWXO
_MAX_LINKS: Final = 40
_LITTLE_ROOM: Final = 4 << 20
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
_OTHER_PLACES: Final = ("/tmp", "/var/tmp")
"""Where a temporary folder is made if others can change the one that the environment names."""
_spares: Final[dict[Path, Path | None]] = {}


def privacy_problem(folder: Path) -> str:
    """Why snapshots must not be stored in a folder, and what to do; empty if they may be.

    Raises:
        OSError: The folder cannot be examined.
    """
    if (
        sys.platform == "win32"
    ):  # on Windows the mode bits have no meaning, and user folders are private
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
    if facts.st_mode & _OTHER_USERS:
        return f"others may use the folder {folder}: make it private (chmod 700), {other}"
    reason = others_can_change(folder)
    return f"{reason}: forbid that, {other}" if reason else ""


def others_can_change(folder: Path) -> str:
    """How another user could put other files at this path; empty if none could.

    Parts that do not exist are no reason: ask again when they do.
    """
    if sys.platform == "win32":
        return ""
    try:
        for place, facts in _parts(folder.absolute()):
            if not _is_trusted(facts.st_uid):
                return f"{place} belongs to another user"
            has_rights = not stat.S_ISLNK(facts.st_mode)
            if has_rights and _others_can_write(facts) and not facts.st_mode & stat.S_ISVTX:
                return f"other users may replace files in {place}"
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder} cannot be examined ({error.strerror})"
    return ""


def _parts(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """The parts of a path from the root on; after a link, those of what it names."""
    place, left, links = Path(folder.anchor), list(folder.parts[:0:-1]), 0
    while left:
        part = left.pop()
        if part == "..":
            place = place.parent
            continue
        facts = (place / part).lstat()
        yield place / part, facts
        if not stat.S_ISLNK(facts.st_mode):
            place /= part
            continue
        links += 1
        if links > _MAX_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        target = Path(os.readlink(place / part))
        left.extend(reversed(target.parts[1:] if target.anchor else target.parts))
        place = Path(target.anchor or place)


def _others_can_write(facts: os.stat_result) -> bool:
    if facts.st_mode & stat.S_IWOTH:
        return True
    return bool(facts.st_mode & stat.S_IWGRP) and not _is_own_group(facts.st_gid)


@lru_cache(maxsize=64)
def _is_own_group(group: int) -> bool:
    """True for root's group, and for a group of this user's name without further members."""
    if group == 0:
        return True
    import grp
    import pwd

    try:
        user, facts = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    is_named = facts.gr_name == user.pw_name and user.pw_gid == group
    return is_named and set(facts.gr_mem) <= {user.pw_name}


def _is_trusted(user: int) -> bool:
    return user in (0, os.getuid()) or user == _unknown_user()


@lru_cache(maxsize=1)
def _unknown_user() -> int | None:
    """The id that stands for users outside this container, among them the machine's root."""
    try:
        number = int(Path("/proc/sys/kernel/overflowuid").read_text())
        lines = Path("/proc/self/uid_map").read_text().splitlines()
    except (OSError, ValueError):
        return None
    known = [(int(first), int(count)) for first, _, count in map(str.split, lines)]
    is_known = any(first <= number < first + count for first, count in known)
    return None if is_known else number


def make_private_folder(folder: Path) -> None:
    """Creates the folder and missing parents, all private, unless it exists.

    Raises:
        OSError: It cannot be created.
    """
    for path in (*reversed(folder.parents), folder):
        if not path.exists():
            with contextlib.suppress(FileExistsError):  # another process created it first
                path.mkdir(mode=0o700)


def user_cache(name: str) -> Path:
    """The user's cache folder for a program."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir(name))


def can_write(folder: Path) -> bool:
    """True if folders can be created there; tries it in the nearest existing parent.

    The rights alone do not tell: root may write to ``/proc``, where nothing can be created.
    """
    if not folder.is_absolute():  # as for a user without a home folder
        return False
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            return False
        os.rmdir(tempfile.mkdtemp(prefix=".", dir=folder))
    except OSError as error:
        return error.errno in _NO_ROOM  # what is there can still be read
    return True


def has_room(folder: Path) -> bool:
    """True if files of a few megabytes can be written there."""
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return shutil.disk_usage(folder).free >= _LITTLE_ROOM
    except OSError:
        return True


def can_run(folder: Path) -> bool:
    """True if code in the folder can be loaded, so the file system is not mounted ``noexec``."""
    if sys.platform != "linux":
        return True
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return not os.statvfs(folder).f_flag & os.ST_NOEXEC
    except OSError:
        return True


def writable_or_spare(folder: Path, name: str) -> Path | None:
    """The folder, or one of that name in the spare folder (logged once); None if neither works."""
    return folder if can_write(folder) else _instead(folder, name, "cannot be written")


def code_folder(folder: Path, name: str) -> Path | None:
    """A folder for code that this process loads: only its user can read or change it.

    Args:
        folder: The wanted folder; created if it does not exist.
        name: Name of the folder in the spare folder, which is used if the wanted one cannot be
            written, or could be changed by others (logged once).

    Returns:
        The folder; None if neither works.
    """
    if not can_write(folder):
        return _instead(folder, name, "cannot be written")
    try:
        reason = _reason_against_code(folder)
    except OSError as error:
        reason = f"cannot be used ({error.strerror})"
    return _instead(folder, name, reason) if reason else folder


def _reason_against_code(folder: Path) -> str:
    # Before it is created, too: others could replace a folder that is created now.
    for is_created in (False, True):
        if is_created:
            make_private_folder(folder)
        if reason := others_can_change(folder):
            return f"could hold the code of others ({reason})"
    if sys.platform == "win32":
        return ""
    facts = folder.stat()
    if facts.st_uid != os.getuid():
        return "belongs to another user"
    if facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "could hold the code of others (they may write to it)"
    if facts.st_mode & _OTHER_USERS:
        folder.chmod(0o700)
    return ""


def _instead(folder: Path, name: str, reason: str) -> Path | None:
    spare = spare_folder()
    instead = f"{spare} is used, which may not outlast the day" if spare else "nothing is kept"
    text = (
        f"the folder {folder} {reason}: {instead}. Make it a folder that only you can write to, or "
        "set GPUGDA_CACHE_DIR, or XDG_CACHE_HOME for the compiled kernels too"
    )
    if not _spares:  # once: if one folder cannot be written, neither can the others
        logger.warning("%s", text)
    found = _spares[folder] = None if spare is None else spare / name
    if found is not None:
        found.mkdir(mode=0o700, exist_ok=True)
    return found


def spares() -> dict[Path, Path | None]:
    """Folders that could not be written, and their replacements."""
    return dict(_spares)


@lru_cache(maxsize=1)
def spare_folder() -> Path | None:
    """A private folder of this user in the temporary folder, created on use; None if impossible."""
    above = Path(tempfile.gettempdir())
    places = [above]
    if others_can_change(above):
        places = [Path(each) for each in _OTHER_PLACES if not others_can_change(Path(each))]
    for each in places:
        try:
            return _spare_in(each)
        except OSError as error:
            logger.debug("there is no temporary folder: %s", error)
    return None


def _spare_in(above: Path) -> Path:
    folder = above / f"gpugda-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
    make_private_folder(folder)
    if privacy_problem(folder) or not can_write(folder):  # another user created it first
        folder = Path(tempfile.mkdtemp(prefix="gpugda-", dir=above))
        atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)


def cache_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """The cache folder of this program; None if it is switched off or nothing can be written.

    If ``GPUGDA_CACHE_DIR`` cannot be written, a private temporary folder is used.

    Raises:
        ConfigurationError: The variable is not an absolute path.
    """
    folder = requested_cache_folder(environment)
    return None if folder is None else writable_or_spare(folder, "gpugda")


def requested_cache_folder(environment: Mapping[str, str] | None = None) -> Path | None:
    """The cache folder that ``GPUGDA_CACHE_DIR`` names; None if it is switched off.

    Raises:
        ConfigurationError: The variable is not an absolute path.
    """
    text = (os.environ if environment is None else environment).get("GPUGDA_CACHE_DIR")
    if text is None:
        return user_cache("gpugda")
    if text.strip().lower() in _OFF:
        return None
    folder = Path(text).expanduser()
    if not folder.is_absolute():
        raise ConfigurationError(f"GPUGDA_CACHE_DIR is {text!r}; give an absolute path, or 'off'.")
    return folder


def replace_file(path: Path, content: bytes) -> None:
    """Replaces a file atomically, in a private folder: readers see the old or the new content.

    Raises:
        OSError: It cannot be written; no partial file remains.
    """
    make_private_folder(path.parent)
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
        try:
            file.write(content)
        except BaseException:
            os.unlink(file.name)
            raise
    os.replace(file.name, path)
