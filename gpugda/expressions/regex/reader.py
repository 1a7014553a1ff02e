"""Translates a Java regular expression to an equivalent one for the library ``regex``.

Constructs that might differ there, or that depend on the version of Java or Unicode, raise an
`UnsupportedQueryError`, so that Neo4j answers the query itself. So do invalid expressions: Neo4j
then reports what is wrong.
"""

from __future__ import annotations

import re
from typing import NoReturn

from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.regex.classes import (
    ANY_BUT_LINE_ENDS,
    ESCAPES,
    POSIX,
    Ranges,
    complement,
    either_case,
    in_brackets,
    union,
)
from gpugda.types import value

__all__ = ["Translation", "translated"]


@value(frozen=True, slots=True)
class Translation:
    """A translated pattern; ``ascii_only`` is True if it is equivalent for ASCII strings only."""

    pattern: str
    ascii_only: bool


@value(frozen=True, slots=True)
class _Flags:
    """State of the flags ``(?ism)``."""

    ignore_case: bool = False
    dot_all: bool = False
    multiline: bool = False


_QUANTIFIER = re.compile(r"(?:[?*+]|\{[0-9]{1,5}(?:,[0-9]{0,5})?\})[?+]?")
_GROUP = re.compile(r"\(\?(?::|=|!|>|<=|<!|<(?P<name>[A-Za-z][A-Za-z0-9]*)>)")
_FLAGS = re.compile(r"\(\?(?P<on>[ims]*)(?:-(?P<off>[ims]+))?(?P<end>[:)])")
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_HEX = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x\{([0-9a-fA-F]{1,6})\}")
_OCTAL = re.compile(r"0([0-3]?[0-7]{1,2})")
_LINE_END = r"(?:\r\n|(?<!\r)\n|[\r\x85\u2028\u2029])"
_ENDS = {
    "z": r"\Z",
    "Z": rf"(?={_LINE_END}?\Z)",
    "A": r"\A",
    "b": r"\b",
    "B": r"\B",
    "R": r"(?:\r\n|[\n-\r\x85\u2028\u2029])",
}
_LARGEST_DEPTH = 50


def translated(pattern: str) -> Translation:
    """Translates a pattern for the library ``regex``.

    Raises:
        UnsupportedQueryError: No certainly equivalent pattern exists.
    """
    reader = _Reader(pattern)
    text = reader.alternatives(_Flags())
    if reader.place < len(pattern):
        reader.refuse("an unmatched )")
    return Translation(text, reader.ascii_only)


class _Reader:
    """A recursive-descent parser; each method moves ``place`` past its construct."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.place = 0
        self.ascii_only = False
        self._groups = 0
        self._closed: set[int] = set()
        self._depth = 0
        self._looks_back = 0

    def refuse(self, what: str) -> NoReturn:
        """Raises the error that names the construct."""
        message = (
            f"{what} in the regular expression {self.pattern!r} is not supported by this engine"
        )
        raise UnsupportedQueryError(message, construct=f"=~ with {what}")

    def _ahead(self, length: int = 1) -> str:
        return self.pattern[self.place : self.place + length]

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.pattern, self.place)
        if found is not None:
            self.place = found.end()
        return found

    # -------------------------------------------------------------- sequences
    def alternatives(self, flags: _Flags) -> str:
        """Parses alternatives up to the end or a closing parenthesis."""
        parts: list[str] = []
        while self._ahead() not in ("", ")"):
            if self._ahead() == "|":
                self.place += 1
                parts.append("|")
                continue
            switched = self._switched(flags)
            if switched is not None:
                flags = switched
                continue
            parts.append(self._quantified(flags))
        return "".join(parts)

    def _switched(self, flags: _Flags) -> _Flags | None:
        """The flags after ``(?i)``, valid to the end of the group; None without such a switch."""
        start = self.place
        found = self._match(_FLAGS)
        if found is None or found["end"] == ":":
            self.place = start
            return None
        return _with(flags, found)

    def _quantified(self, flags: _Flags) -> str:
        text, repeatable = self._atom(flags)
        found = self._match(_QUANTIFIER)
        if found is None:
            if self._ahead() == "{":
                self.refuse("a stray {")
            return text
        if not repeatable or self._looks_back:
            self.refuse(f"{found[0]} at this place")
        if self._ahead() in ("*", "+", "?", "{"):
            self.refuse("a quantifier after another")
        return f"(?:{text}){found[0]}"

    # -------------------------------------------------------------- atoms
    def _atom(self, flags: _Flags) -> tuple[str, bool]:
        """An atom's translation, and True if it may be repeated."""
        character = self._ahead()
        if character == "(":
            return self._group(flags)
        if character == "[":
            return in_brackets(self._class(flags)), True
        if character == "\\":
            return self._escape(flags)
        self.place += 1
        if character in "*+?{":
            self.refuse(f"a stray {character}")
        if character == ".":
            return (r"(?s:.)" if flags.dot_all else in_brackets(ANY_BUT_LINE_ENDS)), True
        if character in "^$":
            return self._anchor(character, flags), False
        return self._literal(ord(character), flags), True

    def _anchor(self, character: str, flags: _Flags) -> str:
        if flags.multiline:
            self.refuse(f"{character} with (?m)")
        return r"\A" if character == "^" else _ENDS["Z"]

    def _literal(self, code: int, flags: _Flags) -> str:
        return in_brackets(self._folded(((code, code),), flags))

    def _folded(self, ranges: Ranges, flags: _Flags) -> Ranges:
        return either_case(ranges) if flags.ignore_case else ranges

    # -------------------------------------------------------------- groups
    def _group(self, flags: _Flags) -> tuple[str, bool]:
        self._depth += 1
        if self._depth > _LARGEST_DEPTH:
            self.refuse("this many nested groups")
        number, opening, inner = self._opening(flags)
        looks_back = opening in ("(?<=", "(?<!")
        self._looks_back += looks_back
        text = self.alternatives(inner)
        self._looks_back -= looks_back
        if self._ahead() != ")":
            self.refuse("an unmatched (")
        self.place += 1
        self._depth -= 1
        if number:
            self._closed.add(number)
        return f"{opening}{text})", opening in ("(", "(?:", "(?>") or opening.startswith("(?P")

    def _opening(self, flags: _Flags) -> tuple[int, str, _Flags]:
        found = self._match(_FLAGS)
        if found is not None:
            return 0, "(?:", _with(flags, found)
        found = self._match(_GROUP)
        if found is not None and found["name"] is None:
            return 0, found[0], flags
        if found is None and self._ahead(2) == "(?":
            self.refuse(self._ahead(4))
        self._groups += 1
        if found is not None:
            return self._groups, f"(?P<{found['name']}>", flags
        self.place += 1
        return self._groups, "(", flags

    # -------------------------------------------------------------- escapes
    def _escape(self, flags: _Flags) -> tuple[str, bool]:
        letter = self.pattern[self.place + 1 : self.place + 2]
        if letter == "Q":
            return self._quoted(flags)
        if letter in _ENDS:
            self.place += 2
            # Word boundaries beyond ASCII differ between versions of Java.
            self.ascii_only |= letter in "bB"
            return _ENDS[letter], letter == "R"
        if letter.isdigit() and letter != "0":
            return self._back_reference(flags), True
        if letter in ("p", "P"):
            return in_brackets(self._named_class(flags)), True
        return in_brackets(self._folded(self._escaped_set(), flags)), True

    def _quoted(self, flags: _Flags) -> tuple[str, bool]:
        start = self.place + 2
        end = self.pattern.find("\\E", start)
        text = self.pattern[start:] if end < 0 else self.pattern[start:end]
        self.place = len(self.pattern) if end < 0 else end + 2
        return "".join(self._literal(ord(c), flags) for c in text), len(text) == 1

    def _back_reference(self, flags: _Flags) -> str:
        number = int(self.pattern[self.place + 1])
        self.place += 2
        if number not in self._closed or self._ahead().isdigit() or flags.ignore_case:
            self.refuse(f"\\{number} at this place")
        return f"\\g<{number}>"

    def _escaped_set(self) -> Ranges:
        """The set of characters that an escape stands for, inside or outside brackets."""
        letter = self.pattern[self.place + 1 : self.place + 2]
        self.place += 1
        for pattern, base in ((_HEX, 16), (_OCTAL, 8)):
            found = self._match(pattern)
            if found is not None:
                code = int(next(group for group in found.groups() if group), base)
                return ((code, code),)
        self.place += 1
        if letter in ESCAPES:
            return ESCAPES[letter]
        if letter in _CONTROLS:
            letter = _CONTROLS[letter]
        elif not letter or (letter.isascii() and letter.isalnum()):
            self.refuse(f"\\{letter}")
        return ((ord(letter), ord(letter)),)

    def _named_class(self, flags: _Flags) -> Ranges:
        found = self._match(re.compile(r"\\([pP])\{([A-Za-z]+)\}"))
        if found is None or found[2] not in POSIX or flags.ignore_case:
            self.refuse("such a \\p{…}")
        ranges = POSIX[found[2]]
        return complement(ranges) if found[1] == "P" else ranges

    # -------------------------------------------------------------- classes
    def _class(self, flags: _Flags) -> Ranges:
        self.place += 1
        negated = self._ahead() == "^"
        self.place += negated
        sets: list[Ranges] = []
        while self._ahead() != "]" or not sets:
            sets.append(self._class_item(flags))
        self.place += 1
        ranges = union(*sets)
        return complement(ranges) if negated else ranges

    def _class_item(self, flags: _Flags) -> Ranges:
        if self._ahead() in ("", "[", "]") or self._ahead(2) == "&&":
            self.refuse("this character class")
        if self._ahead(2) in ("\\p", "\\P"):
            return self._named_class(flags)
        first = self._class_part()
        if self._ahead() != "-" or self._ahead(2) in ("-]", "-"):
            return self._folded(first, flags)
        self.place += 1
        if self._ahead() == "[" or self._ahead(2) == "&&":
            self.refuse("this character class")
        last = self._class_part()
        low, high = first[0][0], last[-1][1]
        if first != ((low, low),) or last != ((high, high),) or low > high:
            self.refuse("this character range")
        return self._folded(((low, high),), flags)

    def _class_part(self) -> Ranges:
        if self._ahead() == "\\":
            return self._escaped_set()
        code = ord(self._ahead())
        self.place += 1
        return ((code, code),)


def _with(flags: _Flags, found: re.Match[str]) -> _Flags:
    on, off = found["on"], found["off"] or ""
    states = (flags.ignore_case, flags.dot_all, flags.multiline)
    ignore_case, dot_all, multiline = (
        (state or letter in on) and letter not in off
        for letter, state in zip("ism", states, strict=True)
    )
    return _Flags(ignore_case, dot_all, multiline)
