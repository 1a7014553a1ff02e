"""What was typed in the shell, kept for the next time."""

from __future__ import annotations

import json
import logging
import os
import re
from typing import TYPE_CHECKING, Final

from prompt_toolkit.history import History, InMemoryHistory

from gpugda.folders import cache_folder, make_private_folder, privacy_problem, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["FileHistory", "is_secret", "open_history"]

logger = logging.getLogger(__name__)

MOST: Final = 1000
"""So many texts are kept, and up to twice as many lie in the file."""

_SECRET: Final = re.compile(r"^\s*:params?\b|password|://[^/\s'\"]*@", re.IGNORECASE | re.MULTILINE)


def is_secret(text: str) -> bool:
    """Whether a text may hold what should not lie on a disk: a parameter or a password."""
    return _SECRET.search(text) is not None


class FileHistory(History):
    """Keeps texts in a file, a JSON string a line, the newest last."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """The texts of earlier sessions, the newest first."""
        try:
            lines = self._path.read_bytes().splitlines()
            if len(lines) > 2 * MOST:
                replace_file(self._path, b"".join(line + b"\n" for line in lines[-MOST:]))
        except OSError:
            return
        for line in reversed(lines[-MOST:]):
            try:
                text = json.loads(line)
            except ValueError:
                continue  # what a full disk left
            if isinstance(text, str):
                yield text

    def store_string(self, string: str) -> None:
        """Adds a text, unless it is secret; then it is there until the session ends."""
        if is_secret(string):
            return
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(self._path, flags, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(string).encode() + b"\n")
        except OSError as error:
            logger.warning("the history is not kept: %s", error)


def open_history(folder: Path | None = None) -> History:
    """The history in the user's state folder; one in memory where nothing may be kept.

    Args:
        folder: Where to, default gpugda's state folder.

    Raises:
        ConfigurationError: ``GPUGDA_CACHE_DIR`` makes no sense.
    """
    if cache_folder() is None:  # whoever keeps nothing on disk means this as well
        return InMemoryHistory()
    if folder is None:
        from platformdirs import user_state_path

        folder = user_state_path("gpugda")
    if reason := _why_not(folder):
        logger.warning("the history is not kept: %s", reason)
        return InMemoryHistory()
    return FileHistory(folder / "shell-history")


def _why_not(folder: Path) -> str:
    try:
        make_private_folder(folder)
        return privacy_problem(folder)
    except OSError as error:
        return str(error)
