"""The prompt for statements: line editing, colours, history by the arrow keys."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output.defaults import create_output
from pygments.lexers.graph import CypherLexer  # type: ignore[import-untyped]

from gpugda.query.statements import EntryReader

if TYPE_CHECKING:
    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent
    from prompt_toolkit.output import Output

__all__ = ["Terminal", "is_complete"]


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
