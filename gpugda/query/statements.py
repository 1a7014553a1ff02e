"""Splits typed or streamed text into statements and shell commands."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Entry", "EntryReader", "is_secret"]

# Constructs in which a semicolon does not end a statement, complete ones and the start of
# incomplete ones.
_PIECE: Final = re.compile(
    r"""//[^\n\r]*+|/\*.*?\*/|'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"|`[^`]*+`
    |(?P<open>/\*|['"`])
    |(?P<end>;)""",
    re.DOTALL | re.VERBOSE,
)
_BLANK: Final = re.compile(r"(?:\s++|//[^\n\r]*+|/\*.*?\*/)*+", re.DOTALL)
_WITH_STATEMENT: Final = re.compile(r":explain\b", re.IGNORECASE)
# Blanks within a line only, so that many blank lines are not looked at from each of them.
_SECRET: Final = re.compile(
    r"^[^\S\n]*+:params?\b|password|://[^/\s'\"]*@", re.IGNORECASE | re.MULTILINE
)


def is_secret(text: str) -> bool:
    """True if a text may contain a secret that must not be saved: a parameter or a password."""
    return _SECRET.search(text) is not None


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement without its semicolon, or one command, which begins with a colon.

    Args:
        text: The original text; a statement keeps its leading comments.
        line: 1-based line in which the text begins.
    """

    text: str
    line: int

    @property
    def is_command(self) -> bool:
        """True for a command of the shell, which is not sent to the database."""
        return self.text.startswith(":")

    @property
    def comments(self) -> int:
        """Number of characters of spaces and comments before the statement."""
        blank = _BLANK.match(self.text)
        return 0 if blank is None else blank.end()


class EntryReader:
    """Splits text into entries.

    A statement ends with a semicolon outside strings, comments and backticks; a command with its
    line, except that ``:explain`` is followed by a statement and ends like one.
    """

    def __init__(self) -> None:
        self._text = ""
        self._line = 1  # line number of the text's start
        self._head = 0  # start of the entry, after spaces and comments
        self._at = 0  # everything before this offset has been scanned
        self._begun = False

    @property
    def is_within(self) -> bool:
        """True if an entry or a comment has begun and not ended."""
        return self._begun or bool(_BLANK.sub("", self._text[self._at :]))

    def feed(self, lines: str) -> Iterator[Entry]:
        """The entries that end in these lines; only the last line may be incomplete."""
        self._text += lines
        while self._find_head() and (cut := self._find_end()) is not None:
            yield from self._cut(*cut)

    def finish(self) -> Iterator[Entry]:
        """The remaining text as an entry, even if its end is missing."""
        rest = len(self._text)
        if self._begun or self.is_within:
            yield from self._cut(rest, rest)

    def _find_head(self) -> bool:
        if not self._begun:
            blank = _BLANK.match(self._text, self._at)
            self._at = self._head = self._at if blank is None else blank.end()
            rest = self._text[self._at : self._at + 2]
            self._begun = rest not in ("", "/*")
        return self._begun

    def _find_end(self) -> tuple[int, int] | None:
        """End of the entry, and start of the next one."""
        text = self._text
        if text[self._head] == ":" and not _WITH_STATEMENT.match(text, self._head):
            newline = text.find("\n", self._head)
            return None if newline < 0 else (newline, newline)
        for piece in _PIECE.finditer(text, self._at):
            if piece["open"]:
                self._at = piece.start()
                return None
            if piece["end"]:
                return piece.start(), piece.end()
            self._at = piece.end()
        self._at = len(text)
        return None

    def _cut(self, end: int, following: int) -> Iterator[Entry]:
        text = self._text
        begin = self._head if text.startswith(":", self._head) else 0
        begin += len(text[begin:end]) - len(text[begin:end].lstrip())
        line = self._line + text.count("\n", 0, begin)
        found = text[begin:end].rstrip()
        self._line += text.count("\n", 0, following)
        self._text, self._head, self._at, self._begun = text[following:], 0, 0, False
        if found.startswith(":"):
            yield Entry(found.rstrip("; \t"), line)
        elif _BLANK.sub("", found):
            yield Entry(found, line)
