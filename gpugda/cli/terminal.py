"""The prompt for statements: line editing, colours, history by the arrow keys."""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from prompt_toolkit import PromptSession
from prompt_toolkit.history import History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output.defaults import create_output
from pygments.lexers.graph import CypherLexer  # type: ignore[import-untyped]

from gpugda.folders import cache_folder, make_private_folder, privacy_problem, replace_file
from gpugda.query.statements import EntryReader, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output


__all__ = ["FileHistory", "Terminal", "is_complete", "open_history"]

logger = logging.getLogger(__name__)

MAX_ENTRIES: Final = 1000
"""Number of entries that are kept; the file holds up to twice as many."""


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


def is_complete(text: str) -> bool:
    """True if Enter runs the text; otherwise Enter adds a line to it."""
    reader = EntryReader()
    list(reader.feed(f"{text}\n"))
    return not reader.is_within


class Terminal:
    """Reads one text after another from the user.

    Args:
        history: Earlier texts.
        source: Input of the keys, default the terminal.
        sink: Output of the prompt; default the standard stream that is a terminal, so that rows
            can go to a file.
        completer: Completes words when Tab is pressed.
    """

    def __init__(
        self,
        history: History,
        source: Input | None = None,
        sink: Output | None = None,
        completer: Completer | None = None,
    ) -> None:
        self._session: PromptSession[str] = PromptSession(
            multiline=True,
            history=history,
            completer=completer,
            complete_while_typing=False,
            lexer=PygmentsLexer(CypherLexer),
            key_bindings=_keys(),
            prompt_continuation=_continuation,
            enable_open_in_editor=True,
            input=source,
            output=sink or _drawn_on(),
        )

    def read(self, prompt: str) -> str:
        """One or more complete entries with their terminators.

        Raises:
            EOFError: Ctrl-D.
            KeyboardInterrupt: Ctrl-C.
        """
        return self._session.prompt(prompt)


def _drawn_on() -> Output | None:
    # None: prompt_toolkit chooses, which also supports terminals with few capabilities.
    return None if sys.stdout.isatty() else create_output(always_prefer_tty=True)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer: Buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    return keys


def _continuation(width: int, line: int, wraps: int) -> Any:
    return " " * width
