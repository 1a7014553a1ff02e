"""Private cache folders, and a temporary one if the user's folder is not writable."""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import sys
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "cache_folder",
    "can_run",
    "can_write",
    "make_private_folder",
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
    above = folder.parent.stat()
    if above.st_mode & stat.S_IWOTH and not above.st_mode & stat.S_ISVTX:
        return f"any user may replace files in {folder.parent}: forbid that (chmod o-w), {other}"
    return ""


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
    """True if files can be created there; checks the nearest existing parent, creates nothing."""
    if not folder.is_absolute():  # as for a user without a home folder
        return False
    try:
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        return False


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
    if can_write(folder):
        return folder
    spare = spare_folder()
    instead = f"{spare} is used, which may not outlast the day" if spare else "nothing is kept"
    text = (
        f"the folder {folder} cannot be written: {instead}. Make it writable, or set "
        "GPUGDA_CACHE_DIR, or XDG_CACHE_HOME for OpenCL's caches too"
    )
    if not _spares:  # once: if one folder cannot be written, neither can the others
        logger.warning("%s", text)
    found = _spares[folder] = None if spare is None else spare / name
    return found


def spares() -> dict[Path, Path | None]:
    """Folders that could not be written, and their replacements."""
    return dict(_spares)


@lru_cache(maxsize=1)
def spare_folder() -> Path | None:
    """A private folder of this user in the temporary folder, created on use; None if impossible."""
    try:
        above = Path(tempfile.gettempdir())
        folder = above / f"gpugda-{os.getuid() if hasattr(os, 'getuid') else 'user'}"
        make_private_folder(folder)
        if privacy_problem(folder) or not can_write(folder):  # another user created it first
            folder = Path(tempfile.mkdtemp(prefix="gpugda-", dir=above))
    except OSError as error:
        logger.debug("there is no temporary folder: %s", error)
        return None
    return folder


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
