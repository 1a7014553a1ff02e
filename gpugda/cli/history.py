"""Saves the history of the shell for later sessions."""

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

MAX_ENTRIES: Final = 1000
"""Number of entries that are kept; the file holds up to twice as many."""

_SECRET: Final = re.compile(r"^\s*:params?\b|password|://[^/\s'\"]*@", re.IGNORECASE | re.MULTILINE)


def is_secret(text: str) -> bool:
    """True if a text may contain a secret that must not be saved: a parameter or a password."""
    return _SECRET.search(text) is not None


class FileHistory(History):
    """Keeps entries in a file, one JSON string per line, the newest last."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def load_history_strings(self) -> Iterable[str]:
        """The entries of earlier sessions, the newest first."""
        try:
            lines = self._path.read_bytes().splitlines()
            if len(lines) > 2 * MAX_ENTRIES:
                replace_file(self._path, b"".join(line + b"\n" for line in lines[-MAX_ENTRIES:]))
        except OSError:
            return
        for line in reversed(lines[-MAX_ENTRIES:]):
            try:
                text = json.loads(line)
            except ValueError:
                continue  # a line truncated by a full disk
            if isinstance(text, str):
                yield text

    def store_string(self, string: str) -> None:
        """Adds an entry; a secret one is kept only until the session ends."""
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
    """The history in the user's state folder; in memory if caching on disk is off.

    Args:
        folder: Folder of the history, default gpugda's state folder.

    Raises:
        ConfigurationError: ``GPUGDA_CACHE_DIR`` is invalid.
    """
    if cache_folder() is None:  # no caches on disk: no history on disk either
        return InMemoryHistory()
    if folder is None:
        from platformdirs import user_state_path

        folder = user_state_path("gpugda")
    if reason := _privacy_problem(folder):
        logger.warning("the history is not kept: %s", reason)
        return InMemoryHistory()
    return FileHistory(folder / "shell-history")


def _privacy_problem(folder: Path) -> str:
    try:
        make_private_folder(folder)
        return privacy_problem(folder)
    except OSError as error:
        return str(error)
